"""Where parts meet: ids, store names, default places and their modes."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from uuid import UUID

import pytest

from engines.samples import MINE
from engines.servers import database_url
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.errors import Corrupt, Invalid, NotFound, Unavailable
from engram.inference.models import DEFAULT, MODELS
from engram.model.caller import Caller
from engram.model.query import Space
from engram.model.scope import GLOBAL
from engram.ports import Copies, ManyOrgs, able
from engram.wiring import open as open_memory
from engram.wiring.clock import new_id, now
from engram.wiring.extras import how_to_install
from engram.wiring.orgs import Orgs


def opened(folder: Path, store: str | os.PathLike[str] = "", *, making: bool = True, **variables: str):
    environment = {"HOME": str(folder), **variables}
    return open_memory(store, environment=environment, folder=folder, making="now" if making else "never")


class TestIds:
    def test_an_id_is_a_uuid_of_version_7(self):
        for _ in range(200):
            one = UUID(text := new_id())

            assert str(one) == text
            assert one.version == 7
            assert one.variant == "specified in RFC 4122"

    def test_an_id_carries_its_moment(self):
        before = datetime.now(UTC) - timedelta(milliseconds=2)
        stamp = datetime.fromtimestamp((UUID(new_id()).int >> 80) / 1000, UTC)

        assert before <= stamp <= datetime.now(UTC)

    def test_ids_are_unique(self):
        assert len({new_id() for _ in range(20_000)}) == 20_000

    def test_ids_sort_by_age_to_the_millisecond(self):
        ids = [new_id() for _ in range(5_000)]
        stamps = [one[:13] for one in ids]

        assert stamps == sorted(stamps)

    def test_ids_of_two_processes_differ(self):
        command = [sys.executable, "-c", "from engram.wiring.clock import new_id; print(new_id())"]
        told = {subprocess.run(command, capture_output=True, check=True, text=True).stdout for _ in range(2)}

        assert len(told) == 2

    def test_the_clock_is_in_utc(self):
        assert now().tzinfo is UTC


class TestStores:
    def test_ram_is_a_memory_of_this_process(self, tmp_path: Path):
        with opened(tmp_path, "ram:") as memory:
            assert isinstance(memory.engine, RamEngine)
            assert memory.store == "ram:"
        assert list(tmp_path.iterdir()) == []

    def test_two_rams_share_nothing(self, tmp_path: Path):
        with opened(tmp_path, "ram:") as one, opened(tmp_path, "ram:") as two:
            one.remember("We deploy on Fridays")

            assert two.list().memories == ()

    @pytest.mark.parametrize("form", ["{}", "sqlite:{}", "sqlite://{}"])
    def test_a_path_is_a_file_of_sqlite(self, tmp_path: Path, form: str):
        path = tmp_path / "deep" / "store.db"
        with opened(tmp_path, form.format(path)) as memory:
            assert isinstance(memory.engine, SqliteEngine)
            assert memory.store == str(path)
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_path_may_be_a_path(self, tmp_path: Path):
        with opened(tmp_path, tmp_path / "store.db") as memory:
            assert memory.store == str(tmp_path / "store.db")

    def test_a_tilde_is_the_home_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        with opened(tmp_path, "~/store.db") as memory:
            assert memory.store == str(tmp_path / "store.db")

    def test_a_relative_path_is_seen_from_the_working_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        with opened(tmp_path, "store.db") as memory:
            assert memory.store == str(tmp_path / "store.db")

    def test_the_environment_names_the_store(self, tmp_path: Path):
        with opened(tmp_path, ENGRAM_STORE=f"sqlite:{tmp_path}/named.db") as memory:
            assert memory.store == f"{tmp_path}/named.db"

    def test_an_argument_goes_before_the_environment(self, tmp_path: Path):
        with opened(tmp_path, "ram:", ENGRAM_STORE=f"{tmp_path}/named.db") as memory:
            assert memory.store == "ram:"
        assert not (tmp_path / "named.db").exists()

    @pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
    def test_a_database_that_does_not_answer_is_told_in_a_word(self, tmp_path: Path, scheme: str):
        with pytest.raises(Unavailable, match="cannot be reached") as refused:
            opened(tmp_path, f"{scheme}://someone:secret@127.0.0.1:1/x")
        assert "secret" not in str(refused.value)

    @pytest.mark.parametrize("name", ["files:odd\udcff", "odd\udcff.db", "files:odd\0", "odd\0.db"])
    def test_a_path_that_is_no_text_is_refused_in_plain_words(self, tmp_path: Path, name: str):
        with pytest.raises(Invalid, match="store"):
            opened(tmp_path, name)

    @pytest.mark.parametrize("name", ["files:here", "here.db"])
    def test_a_store_in_a_working_directory_that_was_deleted_is_told_as_that(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ):
        (gone := tmp_path / "gone").mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        with pytest.raises(Invalid, match="working directory, which is not there any more"):
            opened(tmp_path, name)

    @pytest.mark.parametrize("name", ["mysql://db", "qdrant:x", "redis:x", "ram:x", "RAM:"])
    def test_a_store_of_no_kind_is_refused(self, tmp_path: Path, name: str):
        with pytest.raises(Invalid, match="is not a store"):
            opened(tmp_path, name)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("form", ["files:{}", "files://{}"])
    def test_a_folder_of_plain_files_is_made_where_it_is_named(self, tmp_path: Path, form: str):
        with opened(tmp_path, form.format(tmp_path / "mem")) as memory:
            memory.remember("We deploy on Fridays")
            assert memory.store == f"files:{tmp_path}/mem"
        assert "We deploy on Fridays" in (tmp_path / "mem" / "memory.md").read_text()

    def test_a_folder_that_is_a_store_of_plain_files_is_opened_as_one(self, tmp_path: Path):
        with opened(tmp_path, f"files:{tmp_path}/mem") as memory:
            memory.remember("We deploy on Fridays")

        with opened(tmp_path, tmp_path / "mem") as memory:
            assert [hit.memory.text for hit in memory.recall("Fridays").hits] == ["We deploy on Fridays"]

    def test_the_index_of_plain_files_lies_in_the_cache_folder(self, tmp_path: Path):
        with opened(tmp_path, f"files:{tmp_path}/mem", XDG_CACHE_HOME=str(tmp_path / "cached")) as memory:
            memory.remember("We deploy on Fridays")

        assert [path.suffix for path in sorted((tmp_path / "cached" / "engram").iterdir())] == [".db", ".mark"]

    def test_a_store_of_plain_files_is_no_file_of_sqlite(self, tmp_path: Path):
        opened(tmp_path, f"files:{tmp_path}/mem").close()
        with pytest.raises(Invalid, match="plain files") as refused:
            opened(tmp_path, f"sqlite:{tmp_path}/mem")
        assert f"files:{tmp_path}/mem" in refused.value.hint

    @pytest.mark.parametrize("name", ["", "/"])
    def test_a_folder_with_other_things_in_it_is_refused_with_both_names_to_use(self, tmp_path: Path, name: str):
        (tmp_path / "letter.txt").touch()
        with pytest.raises(Invalid, match="is a directory") as refused:
            opened(tmp_path, f"{tmp_path}{name}")
        assert f"{tmp_path}/engram.db; or keep plain files in it: files:{tmp_path}" in refused.value.hint
        assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]

    @pytest.mark.parametrize(
        "name",
        ["memory", "memory/", "new.folder/", ".engram", "deep/er/memory", "memory.v1", "new.db/", "notes.txt"],
    )
    def test_what_is_not_there_and_is_named_like_a_folder_becomes_plain_files(self, tmp_path: Path, name: str):
        with opened(tmp_path, f"{tmp_path}/{name}") as memory:
            memory.remember("We deploy on Fridays")

        assert "We deploy on Fridays" in (tmp_path / name / "memory.md").read_text()
        with opened(tmp_path, f"{tmp_path}/{name}".rstrip("/")) as memory:
            assert memory.store == f"files:{tmp_path}/{name}".rstrip("/")

    @pytest.mark.parametrize("name", ["memory.db", "MEMORY.DB", "memory.v1.sqlite", "memory.sqlite3", "memory.db3"])
    def test_what_is_not_there_and_is_named_like_a_database_becomes_one(self, tmp_path: Path, name: str):
        with opened(tmp_path, tmp_path / name) as memory:
            assert memory.store == f"{tmp_path}/{name}"
        assert (tmp_path / name).is_file()

    @pytest.mark.parametrize("name", [".bashrc", ".obsidian", ".bak", ".memory.md.icloud"])
    def test_a_folder_with_hidden_things_of_somebodys_is_refused(self, tmp_path: Path, name: str):
        (place := tmp_path / "home").mkdir(0o700)
        (place / name).touch()
        with pytest.raises(Invalid, match="is a directory"):
            opened(tmp_path, place)
        assert [path.name for path in place.iterdir()] == [name]

    @pytest.mark.parametrize("form", ["{}", "{}/", "files:{}"])
    @pytest.mark.parametrize("gone", [("memory.md",), ("memory-log.md",), ("memory.md", "memory-log.md")])
    def test_plain_files_of_which_some_were_lost_are_the_store_still(
        self, tmp_path: Path, form: str, gone: tuple[str, ...]
    ):
        with opened(tmp_path, f"files:{tmp_path}/mem") as memory:
            memory.remember("We deploy on Fridays")
        for name in gone:
            (tmp_path / "mem" / name).unlink()

        with opened(tmp_path, form.format(tmp_path / "mem"), making=False) as memory:
            assert memory.recall("deploy").hits[0].memory.text == "We deploy on Fridays"

    @pytest.mark.parametrize("form", ["{}", "files:{}"])
    def test_plain_files_of_which_the_trail_alone_is_left_are_no_empty_store(self, tmp_path: Path, form: str):
        with opened(tmp_path, f"files:{tmp_path}/mem") as memory:
            memory.remember("We deploy on Fridays")
        for name in ("memory.md", "memory-log.md", "events.jsonl"):
            (tmp_path / "mem" / name).unlink()

        with opened(tmp_path, form.format(tmp_path / "mem"), making=False) as memory:
            assert "events.jsonl has lost 1 event" in memory.doctor().findings[0].message

    @pytest.mark.parametrize("hidden", [(), (".git", ".stfolder"), (".dropbox.cache",)])
    def test_an_empty_folder_becomes_plain_files_whatever_a_tool_hides_in_it(
        self, tmp_path: Path, hidden: tuple[str, ...]
    ):
        place = tmp_path / "synced"
        for name in ("", *hidden):
            (place / name).mkdir(0o700)
        with opened(tmp_path, place) as memory:
            memory.remember("We deploy on Fridays")

        assert "We deploy on Fridays" in (place / "memory.md").read_text()

    @pytest.mark.parametrize("left", [".lock", ".memory.md.17.4.new", ".gitignore"])
    def test_a_folder_in_which_a_first_save_was_killed_becomes_plain_files(self, tmp_path: Path, left: str):
        (place := tmp_path / "begun").mkdir(0o700)
        (place / left).touch(0o600)
        with opened(tmp_path, place) as memory:
            assert memory.store == f"files:{place}"

    @pytest.mark.parametrize("hidden", [None, ".git"])
    def test_an_empty_folder_that_others_may_look_into_becomes_private(self, tmp_path: Path, hidden: str | None):
        place = tmp_path / "open"
        place.mkdir()
        if hidden:
            (place / hidden).mkdir()
        place.chmod(0o755)
        with opened(tmp_path, place) as memory:
            memory.remember("We deploy on Fridays")

        assert place.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("mode", [0o757, 0o1777])
    def test_an_empty_folder_that_anybody_may_write_to_is_refused_with_the_command_that_mends_it(
        self, tmp_path: Path, mode: int
    ):
        place = tmp_path / "open"
        place.mkdir()
        place.chmod(mode)
        with pytest.raises(Corrupt, match="Others may open") as refused:
            opened(tmp_path, place)
        assert refused.value.hint == f"Make it private: chmod 700 {place}"

    @pytest.mark.parametrize("name", ["", "/"])
    def test_a_folder_with_our_database_in_it_stands_for_that(self, tmp_path: Path, name: str):
        with opened(tmp_path, tmp_path / "kept" / "engram.db") as memory:
            memory.remember("We deploy on Fridays")

        with opened(tmp_path, f"{tmp_path}/kept{name}") as memory:
            assert memory.store == f"{tmp_path}/kept/engram.db"
            assert [hit.memory.text for hit in memory.recall("Fridays").hits] == ["We deploy on Fridays"]

    @pytest.mark.parametrize("form", ["{}", "sqlite:{}"])
    def test_a_database_in_a_folder_goes_before_plain_files_in_it(self, tmp_path: Path, form: str):
        opened(tmp_path, tmp_path / "kept" / "engram.db").close()
        with opened(tmp_path, f"files:{tmp_path}/kept") as memory:
            memory.remember("We deploy on Fridays")
            assert memory.store == f"files:{tmp_path}/kept"

        with opened(tmp_path, form.format(tmp_path / "kept")) as memory:
            assert memory.store == f"{tmp_path}/kept/engram.db"

    @pytest.mark.parametrize(("name", "file"), [("kept", "kept/engram.db"), ("kept/memory", "kept/memory")])
    def test_a_database_of_which_the_log_alone_is_left_is_no_empty_store(
        self, tmp_path: Path, name: str, file: str
    ):
        with opened(tmp_path, f"sqlite:{tmp_path}/{file}") as memory:
            memory.remember("We deploy on Fridays")
            log = (tmp_path / f"{file}-wal").read_bytes()
        (tmp_path / file).unlink()
        (tmp_path / f"{file}-wal").write_bytes(log)

        for making in (True, False):
            with pytest.raises(Corrupt, match="is gone, and its log"):
                opened(tmp_path, tmp_path / name, making=making)
        assert [path.name for path in (tmp_path / "kept").iterdir()] == [f"{Path(file).name}-wal"]

    def test_a_file_without_an_ending_that_is_there_is_the_database_it_is(self, tmp_path: Path):
        opened(tmp_path, f"sqlite:{tmp_path}/memory").close()
        with opened(tmp_path, tmp_path / "memory") as memory:
            assert memory.store == f"{tmp_path}/memory"


class TestUnmadeStores:
    @pytest.mark.parametrize("form", ["sqlite:", "files:"])
    def test_what_is_made_later_is_made_by_what_is_kept_and_seen_by_whoever_asked_before(
        self, tmp_path: Path, form: str
    ):
        place = tmp_path / "store"

        def later():
            settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
            return open_memory(f"{form}{place}", folder=tmp_path, environment=settings, making="later")

        with later() as one, later() as other:
            assert one.list().memories == one.history().events == one.recall("port").hits == ()
            assert able(one.engine, Copies)
            assert able(one.engine, ManyOrgs) is None
            assert one.notices() == ()
            with pytest.raises(NotFound):
                one.forget("mem-0001")
            assert not place.exists()
            assert other.remember("The port is 80").memory.handle == "mem-0001"
            assert place.exists()
            assert [each.text for each in one.list().memories] == ["The port is 80"]
            assert one.remember("The host is small").memory.handle == "mem-0002"
            assert one.doctor().healthy

    def test_a_place_where_none_can_be_made_is_told_when_something_is_kept(self, tmp_path: Path):
        (tmp_path / "file").touch()
        memory = open_memory(tmp_path / "file" / "store.db", folder=tmp_path, making="later")

        with memory, pytest.raises(Unavailable, match="A store cannot be made"):
            memory.remember("The port is 80")


class TestDefaultPlace:
    def test_it_lies_under_the_data_folder_and_is_private(self, tmp_path: Path):
        umask = os.umask(0)
        try:
            with opened(tmp_path, XDG_DATA_HOME=str(tmp_path / "data")) as memory:
                memory.remember("We deploy on Fridays")
                files = list((tmp_path / "data" / "engram").iterdir())
                modes = {path.name: path.stat().st_mode & 0o777 for path in files}
        finally:
            os.umask(umask)

        assert memory.store == str(tmp_path / "data" / "engram" / "engram.db")
        assert (tmp_path / "data" / "engram").stat().st_mode & 0o777 == 0o700
        assert set(modes.values()) == {0o600}

    def test_it_lies_under_the_home_folder_otherwise(self, tmp_path: Path):
        with opened(tmp_path) as memory:
            assert memory.store == str(tmp_path / ".local" / "share" / "engram" / "engram.db")

    def test_plain_files_that_lie_there_alone_are_the_store(self, tmp_path: Path):
        folder = tmp_path / ".local" / "share" / "engram"
        with opened(tmp_path, f"files:{folder}") as memory:
            memory.remember("We deploy on Fridays")

        with opened(tmp_path) as memory:
            assert memory.store == f"files:{folder}"
            assert memory.recall("deploy").hits[0].memory.text == "We deploy on Fridays"

    @pytest.mark.parametrize("gone", ["memory.md", "memory-log.md", "events.jsonl"])
    def test_plain_files_of_which_one_was_lost_are_the_store_still(self, tmp_path: Path, gone: str):
        folder = tmp_path / ".local" / "share" / "engram"
        with opened(tmp_path, f"files:{folder}") as memory:
            memory.remember("We deploy on Fridays")
        (folder / gone).unlink()

        with opened(tmp_path, making=False) as memory:
            assert memory.store == f"files:{folder}"
            assert memory.recall("deploy").hits[0].memory.text == "We deploy on Fridays"

    def test_a_database_of_which_the_log_alone_is_left_goes_before_plain_files_too(self, tmp_path: Path):
        folder = tmp_path / ".local" / "share" / "engram"
        opened(tmp_path, f"files:{folder}").close()
        (folder / "engram.db-wal").write_bytes(b"frames")

        with pytest.raises(Corrupt, match="is gone, and its log"):
            opened(tmp_path, making=False)

    def test_a_database_that_is_there_goes_before_plain_files(self, tmp_path: Path):
        folder = tmp_path / ".local" / "share" / "engram"
        opened(tmp_path).close()
        with opened(tmp_path, f"files:{folder}") as memory:
            memory.remember("We deploy on Fridays")

        with opened(tmp_path) as memory:
            assert memory.store == str(folder / "engram.db")

    def test_a_folder_that_others_may_look_into_is_refused_with_the_fix(self, tmp_path: Path):
        opened(tmp_path).close()
        folder = tmp_path / ".local" / "share" / "engram"
        folder.chmod(0o755)

        with pytest.raises(Corrupt, match="mode 0755") as refused:
            opened(tmp_path)
        assert f"chmod 700 {folder}" in refused.value.hint

    def test_what_was_remembered_is_there_again(self, tmp_path: Path):
        with opened(tmp_path) as memory:
            memory.remember("We deploy on Fridays")
        with opened(tmp_path) as memory:
            assert memory.recall("deploy").hits[0].memory.text == "We deploy on Fridays"


class TestCallers:
    def test_a_person_speaks_unless_an_agent_is_named(self, tmp_path: Path):
        with opened(tmp_path, "ram:") as memory:
            assert (memory.caller.human, memory.caller.owner) == (True, "")
        with opened(tmp_path, "ram:", ENGRAM_AGENT="bot") as memory:
            assert (memory.caller.human, memory.caller.agent) == (False, "bot")

    def test_a_given_caller_is_taken_as_it_is(self, tmp_path: Path):
        kim = Caller(owner="kim", actor="Kim")
        with open_memory("ram:", caller=kim, environment={"HOME": str(tmp_path)}, folder=tmp_path) as memory:
            assert memory.remember("We deploy on Fridays").memory.owner == "kim"

    def test_memories_land_in_the_project_of_the_folder(self, tmp_path: Path):
        (tmp_path / "api" / ".git").mkdir(parents=True)
        with open_memory("ram:", environment={"HOME": str(tmp_path)}, folder=tmp_path / "api") as memory:
            assert str(memory.remember("We deploy on Fridays").memory.scope) == "project:api"

    def test_a_setting_names_the_project(self, tmp_path: Path):
        with opened(tmp_path, "ram:", ENGRAM_PROJECT="acme") as memory:
            assert str(memory.home) == "project:acme"

    def test_a_confirmation_records_its_channel(self, tmp_path: Path):
        with opened(tmp_path, "ram:") as memory:
            memory.remember("I am Alex", kind="identity")
            memory.promote("mem-0001", confirm=True)
            payload = memory.history().events[0].payload

            assert payload is not None
            assert re.search(r"\bapi\b", str(payload.note))


class TestEmbedders:
    def test_the_default_model_stands_ready_and_is_not_loaded(self, tmp_path: Path):
        with opened(tmp_path, "ram:") as memory:
            embedder = memory.call().embedder

            assert embedder is not None
            assert embedder.space == Space(MODELS[DEFAULT].id, MODELS[DEFAULT].dim)
            assert (embedder.latin, embedder.floor) == (MODELS[DEFAULT].latin, MODELS[DEFAULT].floor)
            memory.remember("We deploy on Fridays")
            memory.recall("deploy", words=True)
            assert not embedder.ready

    @pytest.mark.parametrize("name", MODELS)
    def test_every_model_of_the_table_can_be_chosen_and_has_a_space_of_its_own(self, tmp_path: Path, name: str):
        with opened(tmp_path, "ram:", ENGRAM_EMBEDDER=name) as memory:
            embedder = memory.call().embedder

            assert embedder is not None
            assert embedder.space.model.startswith(f"{name}/")
        assert len({model.id for model in MODELS.values()}) == len(MODELS)

    def test_none_is_no_embedder_and_recall_is_by_words(self, tmp_path: Path):
        with opened(tmp_path, "ram:", ENGRAM_EMBEDDER="none") as memory:
            assert memory.call().embedder is None
            memory.remember("We deploy on Fridays")
            answer = memory.recall("deploy")
            assert (len(answer.hits), answer.by_meaning, answer.hint) == (1, False, "")
            with pytest.raises(Invalid, match="no embedder"):
                memory.reembed()

    @pytest.mark.parametrize("name", ["huge", "Endpoint", "NONE", "../models", "snowflake-arctic-embed-s "])
    def test_an_unknown_name_is_refused_with_the_choices_and_leaves_no_store(self, tmp_path: Path, name: str):
        with pytest.raises(Invalid) as refused:
            opened(tmp_path, tmp_path / "store.db", ENGRAM_EMBEDDER=name)
        assert repr(name) in refused.value.message
        for choice in (*MODELS, "endpoint", "none"):
            assert choice in refused.value.hint
        assert list(tmp_path.iterdir()) == []

    WHOLE: ClassVar[dict[str, str]] = {
        "ENGRAM_EMBEDDER": "endpoint",
        "ENGRAM_EMBEDDER_URL": "http://127.0.0.1:9/v1",
        "ENGRAM_EMBEDDER_MODEL": "m",
        "ENGRAM_EMBEDDER_DIM": "4",
    }

    @pytest.mark.parametrize("missing", ["url", "model", "dim"])
    def test_an_endpoint_that_lacks_a_setting_is_refused_by_its_name(self, tmp_path: Path, missing: str):
        variables = {name: value for name, value in self.WHOLE.items() if not name.endswith(missing.upper())}

        with pytest.raises(Invalid, match=f"embedder_{missing}") as refused:
            opened(tmp_path, tmp_path / "store.db", **variables)
        assert "engram.toml" in refused.value.hint
        assert list(tmp_path.iterdir()) == []

    def test_an_endpoint_has_a_space_of_its_model_length_and_prefix(self, tmp_path: Path):
        with opened(tmp_path, "ram:", **self.WHOLE, ENGRAM_EMBEDDER_DOCUMENT="passage: ") as memory:
            embedder = memory.call().embedder

            assert embedder is not None
            assert embedder.space == Space("endpoint/m", 4, "passage: ")
            assert not embedder.latin

    def test_an_endpoint_that_cannot_be_reached_leaves_words_and_writes_nothing(self, tmp_path: Path):
        with opened(tmp_path, tmp_path / "store.db", **self.WHOLE) as memory:
            memory.remember("We deploy on Fridays")
            answer = memory.recall("deploy")

            assert [hit.memory.text for hit in answer.hits] == ["We deploy on Fridays"]
            assert "cannot be reached" in answer.hint
            assert memory.engine.backlog(MINE).active is None
            with pytest.raises(Unavailable):
                memory.reembed()
            assert memory.engine.check() == []

    @pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "nonsense", "http://", "https://user@host:x/v1"])
    def test_an_address_that_is_none_is_told_and_words_go_on(self, tmp_path: Path, url: str):
        with opened(tmp_path, "ram:", **{**self.WHOLE, "ENGRAM_EMBEDDER_URL": url}) as memory:
            memory.remember("We deploy on Fridays")
            assert memory.recall("deploy", words=True).hits
            with pytest.raises((Invalid, Unavailable)):
                memory.reembed()

    def test_an_endpoint_is_asked_with_its_instructions_and_its_key(self, tmp_path: Path):
        asked: list[tuple[list[str], str]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked.append((body["input"], self.headers["Authorization"]))
                data = [{"index": n, "embedding": [1.0, 0, 0, 0]} for n in range(len(body["input"]))]
                raw = json.dumps({"data": data}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_args: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            variables = {
                **self.WHOLE,
                "ENGRAM_EMBEDDER_URL": f"http://127.0.0.1:{server.server_port}/v1",
                "ENGRAM_EMBEDDER_QUERY": "query: ",
                "ENGRAM_EMBEDDER_DOCUMENT": "passage: ",
                "ENGRAM_EMBEDDER_KEY": "secret",
            }
            with opened(tmp_path, "ram:", **variables) as memory:
                memory.remember("We deploy on Fridays")
                answer = memory.recall("anything at all")
            server.shutdown()

        assert answer.by_meaning
        assert asked == [
            (["query: anything at all"], "Bearer secret"),
            (["passage: We deploy on Fridays"], "Bearer secret"),
        ]

    def test_models_of_ones_own_folder_are_looked_for_in_the_data_folder(self, tmp_path: Path):
        own = tmp_path / "data" / "engram" / "models" / DEFAULT
        own.mkdir(parents=True)
        (own / "model.onnx").write_bytes(b"not a model")
        with opened(tmp_path, "ram:", XDG_DATA_HOME=str(tmp_path / "data")) as memory:
            states = {row.name: row.state for row in memory.models().models}

            assert states[DEFAULT] == "ready", "the one that came with us is whole"


class TestExtractor:
    """The endpoint that a harvest asks, bounded as the settings say."""

    @pytest.mark.parametrize(
        ("bounds", "problem", "reached"),
        [
            ({"ENGRAM_EXTRACTOR_BUDGET": "10"}, "The budget of the extractor is used up.", False),
            ({"ENGRAM_EXTRACTOR_TIMEOUT": "1"}, "did not answer within 1 seconds", True),
        ],
        ids=["budget", "timeout"],
    )
    def test_a_harvest_keeps_to_the_budget_and_the_patience_of_the_settings(
        self, tmp_path: Path, bounds: dict[str, str], problem: str, reached: bool
    ):
        said = {
            "type": "user",
            "sessionId": "s",
            "uuid": "m",
            "message": {"role": "user", "content": "Use uv here."},
        }
        (tmp_path / "s.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
            variables = {"ENGRAM_EXTRACTOR_URL": url, "ENGRAM_EXTRACTOR_MODEL": "m", **bounds}
            with opened(tmp_path, "ram:", **variables) as memory:
                answer = memory.harvest([str(tmp_path / "s.jsonl")], extractor="endpoint")
            silent.settimeout(0)
            asked = True
            try:
                silent.accept()[0].close()
            except BlockingIOError:
                asked = False
        assert problem in " ".join(answer.problems)
        assert asked is reached


class TestOrgs:
    @pytest.fixture
    def orgs(self, tmp_path: Path) -> Iterator[Orgs]:
        settings = {
            "HOME": str(tmp_path),
            "ENGRAM_EMBEDDER": "none",
            "ENGRAM_INDEX": f"qdrant:{tmp_path / 'index'}",
        }
        served = Orgs(database_url(), home=GLOBAL, environment=settings)
        yield served
        served.close()

    def test_a_key_that_was_made_up_leaves_nothing_of_the_org_it_names(self, orgs: Orgs):
        for name in ("default", "acme", "nowhere"):
            said = urlsafe_b64encode(f'["{name}", "ada", "key-0001"]'.encode()).decode().rstrip("=")
            assert orgs.opened_by(f"egk.{said}.x") is None
        assert set(orgs._known) == {"default"}

    def test_the_index_beside_a_database_is_one_for_each_of_its_orgs(self, orgs: Orgs):
        names = [f"org-{new_id()}" for _ in range(2)]
        for name in names:
            admin = Caller(owner="ada", org=name, roles=frozenset({"admin"}))
            engram = orgs.engram(name).speaking_for(admin, "http")
            engram.remember(f"The zebra of {name}")
            found = engram.recall("zebra")
            assert [hit.memory.text for hit in found.hits] == [f"The zebra of {name}"]
            assert found.hint == ""
            told = engram.reindex()
            assert told.index.startswith("qdrant:")
            assert (told.upto, told.events) == (1, 1)

    def test_that_the_index_is_gone_is_told_to_all_and_where_it_is_to_who_looks_after_it(self, tmp_path: Path):
        settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_INDEX": "qdrant://127.0.0.1:9"}
        orgs, org = Orgs(database_url(), home=GLOBAL, environment=settings), f"org-{new_id()}"
        for roles, shown in ((frozenset(), False), (frozenset({"admin"}), True)):
            engram = orgs.engram(org).speaking_for(Caller(owner="ada", org=org, roles=roles), "http")
            engram.remember("The zebra is back")
            found = engram.recall("zebra")
            assert [hit.memory.text for hit in found.hits] == ["The zebra is back"]
            assert ("answered alone" in found.hint, "127.0.0.1:9" in found.hint) == (True, shown)
        orgs.close()


def test_where_it_does_not_run_it_says_so_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(Unavailable, match="Windows") as refused:
        opened(tmp_path)

    assert "WSL" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


# --- extras ---


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("pipx_metadata.json", "pipx install --force '.[tui]'"),
        ("uv-receipt.toml", "uv tool install --force '.[tui]'"),
        ("pyvenv.cfg", "/bin/python -m pip install '.[tui]'"),
    ],
)
def test_an_extra_is_got_by_whoever_installed_the_command(tmp_path, receipt, command):
    (tmp_path / receipt).touch()

    assert command in how_to_install("tui", str(tmp_path))

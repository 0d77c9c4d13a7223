"""Vectors from the real model: what they say, what they are, and what any text does to them."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engram.errors import Invalid, Unavailable
from engram.inference import embed, models
from engram.inference.embed import Local, load
from engram.model.query import Space
from faults.tracing import strace

ROW = models.MODELS[models.DEFAULT]

ODD = {
    "empty": "",
    "a space": " ",
    "NUL": "\0",
    "NUL inside": "before\0after",
    "half a surrogate pair": "\ud800 alone",
    "emoji": "🙂🎉👩‍👩‍👧",
    "right to left": "שלום עולם",
    "Chinese": "数据库迁移",
    "control characters": "\x01\x02\x1b[31m",
    "one word of 100,000 letters": "a" * 100_000,
    "a megabyte of words": "word " * 200_000,
    "a megabyte of spaces": " " * 1_000_000,
    "a megabyte of NUL": "\0" * 1_000_000,
    "markup of the tokenizer": "[CLS] [SEP] [PAD] [MASK] [UNK]",
}


def read(vector: bytes) -> NDArray[np.float32]:
    return np.frombuffer(vector, "<f4")


def cosine(one: bytes, other: bytes) -> float:
    return float(read(one) @ read(other))


def test_a_question_is_nearest_to_the_text_that_answers_it(arctic: Local):
    texts = [
        "The staging database runs on PostgreSQL 16 with pgvector.",
        "Deploys go out on Tuesdays after the stand-up.",
        "Mara is allergic to peanuts.",
    ]
    questions = ["Which DBMS do we use?", "When do we ship?", "What food must she avoid?"]
    vectors = arctic.documents(texts)

    nearest = [max(range(3), key=lambda at: cosine(arctic.query(asked), vectors[at])) for asked in questions]

    assert nearest == [0, 1, 2]


def test_an_embedder_says_what_its_vectors_are(arctic: Local):
    assert arctic.space == Space("snowflake-arctic-embed-s/int8/f93ff225", 384)
    assert (ROW.latin, ROW.floor) == (True, 0.45)


def test_the_cosines_are_those_of_an_independent_reading_of_the_file(arctic: Local):
    """Pooling, prefix or tokenizer gone wrong would show here; processors differ in the third digit."""
    asked = arctic.query("where is the release checklist?")
    near, far = arctic.documents(["The release checklist is in docs/release.md.", "My cat is black."])

    assert cosine(asked, near) == pytest.approx(0.733, abs=0.01)
    assert cosine(asked, far) == pytest.approx(0.458, abs=0.01)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_any_text_has_a_vector_of_unit_length(arctic: Local, text: str):
    for vector in (arctic.query(text), *arctic.documents([text])):
        numbers = read(vector)

        assert numbers.shape == (384,)
        assert float(np.linalg.norm(numbers)) == pytest.approx(1, abs=1e-5)


def test_it_tells_words_from_what_was_mistyped(arctic: Local):
    assert all(map(arctic.knows, ("sport", "Sport", "colour", "port")))
    assert not any(map(arctic.knows, ("databse", "kubernets", "sprot", "", "two words", "\ud800")))


def test_no_texts_have_no_vectors(arctic: Local):
    assert arctic.documents([]) == []


def test_a_text_has_the_same_vector_in_any_company(arctic: Local):
    texts = [f"Note {number}: " + "the queue drains slowly " * (number % 5) for number in range(24)]

    together = arctic.documents(texts)

    assert together == [vector for text in texts for vector in arctic.documents([text])]


def test_a_question_and_a_text_differ_by_what_stands_before_the_question(arctic: Local):
    asked = "release checklist"

    assert arctic.query(asked) == arctic.documents([ROW.query + asked])[0]
    assert arctic.query(asked) != arctic.documents([asked])[0]


def test_what_follows_512_tokens_does_not_count(arctic: Local):
    page = "the queue drains slowly " * 200

    assert arctic.documents([page]) == arctic.documents([page + "and now something else"])


def test_a_megabyte_takes_no_longer_than_a_page(arctic: Local):
    def seconds(text: str) -> float:
        start = time.perf_counter()
        arctic.query(text)
        return time.perf_counter() - start

    page = min(seconds("word " * 3_000) for _ in range(3))

    assert min(seconds("word " * 200_000) for _ in range(3)) < 3 * page + 0.05


def test_a_model_is_loaded_once_in_a_process(arctic: Local):
    with ThreadPoolExecutor(8) as pool:
        assert all(each is arctic for each in pool.map(lambda _: load(models.DEFAULT), range(16)))


def test_threads_may_share_a_model(arctic: Local):
    texts = [f"thread {number}" for number in range(16)]
    alone = [arctic.query(text) for text in texts]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(arctic.query, texts)) == alone


FORKED = f"""
import os, signal
from engram.inference.embed import load
model = load({models.DEFAULT!r})
before = model.query("forked")
child = os.fork()
if not child:
    signal.alarm(10)
    os._exit(model.query("forked") != before)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.usefixtures("place")
def test_a_model_survives_a_fork():
    """No thread pool of the runtime is left behind in the parent."""
    assert subprocess.check_output([sys.executable, "-c", FORKED], text=True).strip() == "0"


def test_nothing_but_this_module_loads_the_heavy_libraries():
    code = "import sys, engram.wiring; print({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules))"

    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_nothing_is_noted_about_the_process_nor_sent_to_anybody(tmp_path: Path):
    script = "from engram.inference.embed import load; load('snowflake-arctic-embed-s').query('who calls home?')"
    home = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    command = [*strace(tmp_path / "calls", "-e", "trace=socket"), sys.executable, "-c", script]
    (tmp_path / "home").mkdir()
    subprocess.run(command, env=home | {"HOME": str(tmp_path / "home")}, check=True, timeout=120)

    assert list((tmp_path / "home").iterdir()) == []
    assert "AF_INET" not in (tmp_path / "calls").read_text(encoding="utf-8")


def test_an_unknown_model_is_refused():
    with pytest.raises(Invalid):
        load("word2vec")


def test_a_model_that_is_not_there_is_unavailable_and_found_once_it_is(copied: Callable[[], Path], tmp_path: Path):
    with pytest.raises(Unavailable, match="is not installed"):
        load(models.DEFAULT, [str(tmp_path / "own")])
    copied()

    assert load(models.DEFAULT, [str(tmp_path / "own")]).query("now")


@pytest.mark.parametrize("damage", ["missing", "truncated", "other bytes"])
def test_the_real_model_damaged_is_never_run(copied: Callable[[], Path], damage: str):
    file = copied() / "model.onnx"
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        os.truncate(file, 30_000_000)
    else:
        with file.open("rb+") as opened:
            opened.seek(20_000_000)
            opened.write(b"other")

    with pytest.raises(Unavailable, match="is damaged") as refused:
        load(models.DEFAULT, [str(file.parents[1])])

    assert str(file) in refused.value.message
    assert "engram models install" in refused.value.hint


# The prepared form


def test_the_prepared_form_gives_the_same_vectors_to_the_last_bit(copied: Callable[[], Path], arctic: Local):
    folder = copied()
    texts = ["short", "a longer text about the release " * 30]

    plain = Local(ROW, str(folder)).documents(texts)
    prepared = Local(ROW, str(folder)).documents(texts)

    assert plain == prepared == arctic.documents(texts)


def run_folder(folder: Path) -> Path:
    (found,) = folder.glob(".run-*")
    return found


@pytest.mark.parametrize("damage", ["truncated", "garbage under the right stamp", "no stamp", "of another version"])
def test_a_prepared_form_that_is_not_whole_is_made_anew(copied: Callable[[], Path], arctic: Local, damage: str):
    folder = copied()
    Local(ROW, str(folder))
    made = run_folder(folder)
    if damage == "truncated":
        with (made / "weights.bin").open("rb+") as file:
            file.truncate(1_000_000)
    elif damage == "no stamp":
        (made / "stamp").unlink()
    elif damage == "of another version":
        made = made.rename(folder / ".run-0.0.1")
    else:
        (made / "graph.onnx").write_bytes(b"garbage")
        (made / "stamp").write_text(embed._stamp(ROW, str(made)), encoding="utf-8")

    assert Local(ROW, str(folder)).query("anew") == arctic.query("anew")

    assert embed._fits(ROW, str(run_folder(folder)))
    assert [each.name for each in folder.iterdir() if each.name.endswith(".new")] == []


def test_a_model_runs_where_nothing_can_be_written(copied: Callable[[], Path], arctic: Local, monkeypatch):
    folder = copied()

    def refuse(*_args: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "mkdir", refuse)

    assert Local(ROW, str(folder)).query("read only") == arctic.query("read only")


def test_a_file_that_is_no_model_is_unavailable_with_the_reason(tmp_path: Path, place: Path):
    (tmp_path / "model.onnx").write_bytes(b"no model at all")
    shutil.copyfile(place / "tokenizer.json", tmp_path / "tokenizer.json")

    with pytest.raises(Unavailable, match="cannot run snowflake-arctic-embed-s"):
        Local(ROW, str(tmp_path))


# A static model


@pytest.fixture
def static(tmp_path: Path) -> Local:
    """A table of four words in three dimensions, in the form of the real one."""
    words = ["[PAD]", "[UNK]", "red", "blue", "green"]
    rows = np.array([[9, 9, 9], [1, 1, 1], [2, 0, 0], [0, 4, 0], [0, 0, 1]], "<f4")
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: number for number, word in enumerate(words)},
        },
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    header = json.dumps({"embeddings": {"dtype": "F32", "shape": [5, 3], "data_offsets": [0, 60]}}).encode()
    header += b" " * (-len(header) % 8)
    weights = len(header).to_bytes(8, "little") + header + rows.tobytes()
    (tmp_path / "model.safetensors").write_bytes(weights)
    row = models.MODELS["potion-base-8M"]._replace(
        dim=3,
        weights=models.File("model.safetensors", len(weights), sha256(weights).hexdigest(), "", ""),
    )
    return Local(row, str(tmp_path))


def test_a_static_vector_is_the_mean_of_its_words(static: Local):
    assert read(static.query("red blue")) == pytest.approx([1 / 5**0.5, 2 / 5**0.5, 0], abs=1e-6)


def test_unknown_words_do_not_count_in_a_static_vector(static: Local):
    assert static.query("red mauve") == static.query("Red")


@pytest.mark.parametrize("text", ["", "mauve", *ODD.values()], ids=["empty", "unknown", *ODD])
def test_a_static_vector_without_a_known_word_has_unit_length_too(static: Local, text: str):
    assert float(np.linalg.norm(read(static.query(text)))) == pytest.approx(1, abs=1e-5)


def test_a_vector_without_a_direction_is_never_given_out(static: Local):
    static._pool = lambda _ids: np.zeros(3, np.float32)
    with pytest.raises(Unavailable, match="gave no vector"):
        static.query("red")

    static._pool = lambda _ids: np.array([1, np.nan, 0], np.float32)
    with pytest.raises(Unavailable, match="gave no vector"):
        static.documents(["red"])

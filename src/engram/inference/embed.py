"""Text to vectors on this machine: a model of the table, run by onnxruntime or looked up where it is static.

This is the one module that loads onnxruntime and tokenizers; it is imported when a vector is asked for.
"""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from engram.errors import Unavailable
from engram.inference.ahead import CORES
from engram.inference.models import Model, locate, mend, named
from engram.model.query import Space

try:
    from tokenizers import Tokenizer

    from engram.arrays import np, npt
except ImportError as error:
    raise Unavailable(
        f"A library that models need cannot be loaded: {error}.",
        "Install Engram again, or set ENGRAM_EMBEDDER=none to recall by words alone.",
    ) from None

if TYPE_CHECKING:
    Vector = npt.NDArray[np.float32]
    Pool = Callable[[list[int]], Vector]

LONGEST, LONGEST_QUESTION = 512, 256
"""Tokens that count; what follows is left out. The models were trained on no more, and a question is waited for."""

CUT = 16_384
"""Characters that are looked at: more than 512 tokens of any prose, so that a megabyte costs what a page does."""

WORKERS = min(4, CORES)
GRAPH, WEIGHTS, STAMP = "graph.onnx", "weights.bin", "stamp"

_loaded: dict[tuple[str, ...], "Local"] = {}
_loading = threading.Lock()


def load(name: str, folders: Sequence[str] = ()) -> "Local":
    """The model of a name, from these folders or from what was packed with us; loaded once in a process.

    Raises:
        Invalid: when there is no model of that name.
        Unavailable: when it is missing, damaged, or cannot be run here.
    """
    key = (name, *folders)
    with _loading:
        if key not in _loaded:
            model = named(name)
            _loaded[key] = Local(model, locate(model, folders))
        return _loaded[key]


class Local:
    """A model in memory. Safe to use from several threads; the same text always gives the same vector.

    Texts are run one by one. These models scale their 8-bit numbers by the largest in a batch, so a vector would
    depend on its neighbours (cosine 0.996 to itself, down to 0.991); and on one core a batch gains at most a fifth
    for short texts and loses for long ones. Several texts share the cores instead.
    """

    def __init__(self, model: Model, folder: str) -> None:
        self.space = Space(model.id, model.dim)
        self._model = model
        self._tokenizer = _tokenizer(model, folder)
        self._pool = (_table if model.pooling == "static" else _network)(model, folder)

    def query(self, text: str) -> bytes:
        """The vector of a question: little-endian float32, of unit length."""
        return self._vector(self._model.query + text, LONGEST_QUESTION)

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors of texts that may answer one, in order."""
        if len(texts) < 2 * WORKERS or WORKERS == 1:
            return [self._vector(text) for text in texts]
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - a single question does without

        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(self._vector, texts))

    def knows(self, word: str) -> bool:
        """Whether this is one token that begins a word; tokens of some models carry the blank before them."""
        lower = word.lower()
        return lower.isalpha() and any(
            self._tokenizer.token_to_id(token) is not None for token in (lower, f"\u2581{lower}")
        )

    def _vector(self, text: str, longest: int = LONGEST) -> bytes:
        # What UTF-8 cannot carry (half a surrogate pair) would be refused by the tokenizer.
        readable = text[:CUT].encode("utf-8", "replace").decode()
        ids = self._tokenizer.encode(readable, add_special_tokens=self._model.pooling != "static").ids
        vector = self._pool(ids if len(ids) <= longest else [*ids[: longest - 1], ids[-1]])
        length = float(np.linalg.norm(vector))
        if vector.shape != (self.space.dim,) or not 0 < length < float("inf"):
            raise Unavailable(
                f"The model {self._model.name} gave no vector of {self.space.dim} numbers.",
                f"Get it anew with `{mend(self._model)}`; recall by words works meanwhile.",
            )
        return (vector / length).astype("<f4").tobytes()


def _tokenizer(model: Model, folder: str) -> Tokenizer:
    tokenizer: Tokenizer = Tokenizer.from_file(os.path.join(folder, model.tokenizer.name))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


def _table(model: Model, folder: str) -> "Pool":
    """A static model: the mean of the rows of a text's tokens. Mapped, so that only these rows are read."""
    path = os.path.join(folder, model.weights.name)
    with open(path, "rb") as file:  # safetensors: the length of a JSON header, the header, the numbers
        start = 8 + int.from_bytes(file.read(8), "little")
    rows = np.memmap(path, "<f4", "r", start).reshape(-1, model.dim)
    unknown = 1

    def pool(ids: list[int]) -> "Vector":
        known = [each for each in ids if each != unknown]  # as the publisher's own library does
        return np.asarray(rows[known or [unknown]].mean(0), np.float32)

    return pool


def _network(model: Model, folder: str) -> "Pool":
    """A transformer: the first token's last state, or the mean of all."""
    session = _session(model, folder)
    first = model.pooling == "cls"

    def pool(ids: list[int]) -> "Vector":
        tokens = np.array([ids], np.int64)
        fed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        states: npt.NDArray[np.float32] = session.run(["last_hidden_state"], fed)[0][0]
        return states[0] if first else np.asarray(states.mean(0), np.float32)

    return pool


def _session(model: Model, folder: str) -> Any:  # noqa: ANN401 - onnxruntime has no types
    """The model as onnxruntime holds it, from its prepared form where there is one, else from the file itself."""
    # As it comes, onnxruntime notes each process in a file of its own and sends that to its makers. It reads this
    # when it is loaded: to ask it afterwards to stop is too late.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 - a static model does without
    except ImportError as error:
        raise Unavailable(
            f"onnxruntime cannot be loaded: {error}.",
            "Install Engram again, use potion-base-8M, which runs without it, or set ENGRAM_EMBEDDER=none.",
        ) from None
    onnxruntime.set_default_logger_severity(3)  # warnings about absent graphics cards would go to standard error
    onnxruntime.disable_telemetry_events()
    prepared = os.path.join(folder, f".run-{onnxruntime.__version__}")
    if _fits(model, prepared):
        # A prepared form that fails all the same is made anew.
        with suppress(Exception):
            return _run(onnxruntime, os.path.join(prepared, GRAPH), _options(onnxruntime, optimise=False))
    try:
        return _prepare(onnxruntime, model, folder, prepared)
    except Exception as error:  # noqa: BLE001 - onnxruntime's own errors have no common class
        raise Unavailable(
            f"onnxruntime {onnxruntime.__version__} cannot run {model.name}: {str(error).strip()[:200]}.",
            "Choose another model (engram models), or set ENGRAM_EMBEDDER=none.",
        ) from None


def _prepare(onnxruntime: Any, model: Model, folder: str, prepared: str) -> Any:  # noqa: ANN401 - no types
    """Load a model from its file, and leave beside it a form that loads in less than half the time.

    The graph is optimised already, and the weights stand apart, so that they are mapped instead of parsed and
    copied: 67 instead of 156 ms for the default model, with the same vectors to the last bit. It is made once for
    each version of onnxruntime. Where it cannot be written, the file itself serves.
    """
    import shutil  # noqa: PLC0415 - once for each installation

    source = os.path.join(folder, model.weights.name)
    draft = f"{prepared}.{os.urandom(4).hex()}.new"
    try:
        os.mkdir(draft)
        options = _options(onnxruntime, optimise=True)
        options.optimized_model_filepath = os.path.join(draft, GRAPH)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS)
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
        session = _run(onnxruntime, source, options)
        _seal(model, draft)
        for other in os.listdir(folder):  # of older versions, or of a process that was killed in this
            if other.startswith(".run-") and os.path.join(folder, other) != draft:
                shutil.rmtree(os.path.join(folder, other), ignore_errors=True)
        os.rename(draft, prepared)
    except Exception:  # noqa: BLE001 - read-only, full, or another process was quicker: none of it matters
        return _run(onnxruntime, source, _options(onnxruntime, optimise=True))
    else:
        return session
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _options(onnxruntime: Any, *, optimise: bool) -> Any:  # noqa: ANN401 - no types
    """How a session is run.

    One thread: two take twice the time as soon as anything else runs, since they wait by spinning, and would not
    survive a fork. No arena: it is not faster here, and never gives memory back.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    levels = onnxruntime.GraphOptimizationLevel
    # The level above this one makes forms for one kind of processor, and was not faster.
    options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED if optimise else levels.ORT_DISABLE_ALL
    return options


def _run(onnxruntime: Any, path: str, options: Any) -> Any:  # noqa: ANN401 - no types
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _fits(model: Model, prepared: str) -> bool:
    """Whether a prepared form is the one that was sealed, and made of this model."""
    try:
        with open(os.path.join(prepared, STAMP), encoding="utf-8", errors="replace") as file:
            return file.read() == _stamp(model, prepared)
    except OSError:
        return False


def _seal(model: Model, prepared: str) -> None:
    for name in (GRAPH, WEIGHTS):
        with open(os.path.join(prepared, name), "rb+") as file:
            os.fsync(file.fileno())
    with open(os.path.join(prepared, STAMP), "w", encoding="utf-8") as file:
        file.write(_stamp(model, prepared))
        file.flush()
        os.fsync(file.fileno())


def _stamp(model: Model, prepared: str) -> str:
    made = (os.stat(os.path.join(prepared, name)) for name in (GRAPH, WEIGHTS))
    return "\n".join([model.id, *(f"{each.st_size} {each.st_mtime_ns} {each.st_ctime_ns}" for each in made)])

"""What finds by meaning, as configured: a model of ours, an endpoint, or nothing."""

from collections.abc import Mapping, Sequence

from engram import config
from engram.errors import Invalid, Unavailable
from engram.inference.lazy import LazyEmbedder, Loaded
from engram.inference.models import MODELS, locate, mend
from engram.inference.shelf import Shelf
from engram.model.query import Space
from engram.ports import Embedder

FLOOR = 0.2
"""The floor of a model behind an endpoint, which nobody has measured."""


def embedder_of(
    settings: config.Settings, environment: Mapping[str, str], folders: Sequence[str]
) -> Embedder | None:
    """What finds by meaning, as configured: a model of ours, an endpoint, or nothing. Nothing is loaded yet.

    Raises:
        Invalid: when there is no such model, or the endpoint lacks a setting.
    """
    name = settings.get("embedder")
    if name == "none":
        return None
    if name == "endpoint":
        return _endpoint(settings, environment)
    if name not in MODELS:
        raise Invalid(
            f"There is no embedding model {name!r}.",
            "Set embedder to one of: " + ", ".join(MODELS) + ", endpoint, none.",
        )
    model = MODELS[name]

    def load() -> Loaded:
        from engram.inference.embed import load  # noqa: PLC0415 - numpy and onnxruntime, on first need

        return load(name, folders)

    def lean() -> bytes:
        from engram.inference.leans import lean_of  # noqa: PLC0415 - needed beside a vector, never before

        return lean_of(name)

    return LazyEmbedder(Space(model.id, model.dim), latin=model.latin, floor=model.floor, load=load, lean=lean)


def shelf_of(environment: Mapping[str, str]) -> Shelf:
    """The models of this machine; where there is no home, those that came with the program."""
    return Shelf(config.data_folder(environment, needed=False))


def way_to_model(environment: Mapping[str, str], folder: str) -> str:
    """The command that gets the configured model, where it is one of ours and not here; "" elsewhere."""
    model = MODELS.get(config.read(environment, folder).get("embedder"))
    if model is None:
        return ""
    try:
        locate(model, shelf_of(environment).folders)
    except Unavailable:
        return mend(model)
    return ""


def _endpoint(settings: config.Settings, environment: Mapping[str, str]) -> Embedder:
    wanted = ("embedder_url", "embedder_model", "embedder_dim")
    if missing := [name for name in wanted if not settings.get(name)]:
        raise Invalid(f"An endpoint needs {', '.join(missing)}.", "Set it in engram.toml; see docs/models.md.")
    url, model, dim = (settings.get(name) for name in wanted)
    prefix = settings.get("embedder_document")

    def load() -> Loaded:
        from engram.inference.endpoint import Endpoint  # noqa: PLC0415 - http and ssl, on first need

        return Endpoint(
            url,
            model,
            dim,
            query_instruction=settings.get("embedder_query"),
            key=environment.get("ENGRAM_EMBEDDER_KEY", ""),
        )

    return LazyEmbedder(Space(f"endpoint/{model}", dim, prefix), latin=False, floor=FLOOR, load=load, local=False)

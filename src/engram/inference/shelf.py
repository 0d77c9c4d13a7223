"""The models of this machine, as operations see them: which are here, and how to get another."""

import os
from collections.abc import Callable, Sequence

from engram.inference.models import DEFAULT, PACKED, install, installed
from engram.model.answers_store import ModelRow


class Shelf:
    """The models that came with the program, and those in a person's own folder."""

    def __init__(self, data_folder: str) -> None:
        self._own = os.path.join(data_folder, "models")

    @property
    def folders(self) -> tuple[str, str]:
        """Where models are looked for; one's own come first."""
        return self._own, PACKED

    def models(self) -> Sequence[ModelRow]:
        """See `ports.Shelf.models`."""
        return [
            ModelRow(
                name=found.model.name,
                state=found.problem or found.state,
                dim=found.model.dim,
                size=found.model.size,
                licence=found.model.licence,
                default=found.model.name == DEFAULT,
            )
            for found in installed(self.folders)
        ]

    def install(self, name: str, progress: Callable[[int, int, str], None]) -> str:
        """See `ports.Shelf.install`."""
        return install(name, self._own, lambda there, whole: progress(there, whole, "bytes")).folder

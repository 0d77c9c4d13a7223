"""Which places go by which plain name on this machine: the first by itself, others by a person's word only."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from engram.drafts import private_folder, whole_file
from engram.errors import Conflict, Unavailable

FILE = "projects.json"
LARGEST = 1024 * 1024


class Names:
    """The notes in a private file: a name, and the places that go by it.

    A place is what a git remote tells, or a folder's real path. `taken` says whether the store holds something
    under a name already; where nobody can be asked, nothing is noted.

    A file that came with a checkout may call it whatever its writer likes. So a word gives access to nothing that
    was there before it, until a person has accepted it on this machine.
    """

    def __init__(self, folder: str, taken: Callable[[str], bool] | None = None) -> None:
        self._path = os.path.join(folder, FILE)
        self._taken = taken

    def require(self, name: str, place: str, *, own_word: str = "") -> None:
        """Make sure that a place may go by a name; `own_word` is the file in which the place gives it to itself.

        The first place to give itself a name is noted.

        Raises:
            Conflict: when the name belongs to another place, or the store knows it from elsewhere.
        """
        known = self._read()
        places = known.get(name, [])
        if _is_among(place, places):
            return
        if places or (own_word and self._taken is not None and self._taken(name)):
            said = f"{own_word} says that this is {name}" if own_word else f"{place} is called {name}"
            other = f"what {places[0]} is called" if places else "a project that you have already"
            raise Conflict(
                f"{said}, which is {other}.",
                f"If it is the same one: engram init {name}. If not: engram init OTHER"
                f"{' --force' if own_word else ''}, or ENGRAM_PROJECT=OTHER for now.",
            )
        if own_word and self._taken is not None:
            with suppress(OSError):  # then a person has to accept it once there is something under the name
                self._write({**known, name: [place]})

    def accepts(self, name: str, place: str) -> bool:
        """Whether a place goes by a name because of a note."""
        return _is_among(place, self._read().get(name, []))

    def accept(self, name: str, place: str) -> list[str]:
        """Note that a place goes by a name because a person said so; returns the other places that do.

        Raises:
            Unavailable: when it cannot be noted.
        """
        known = self._read()
        others = [each for each in known.get(name, []) if each != place]
        try:
            self._write({**known, name: [*others, place]})
        except OSError as error:
            raise Unavailable(
                f"{self._path} cannot be written: {error.strerror}.", "Check who owns the folder."
            ) from None
        return others

    def _read(self) -> dict[str, list[str]]:
        """What is noted; nothing if the file cannot be understood: what the store knows is guarded all the same."""
        try:
            if os.path.islink(self._path) or not os.path.isfile(self._path):
                return {}
            with open(self._path, encoding="utf-8") as file:
                told = json.loads(file.read(LARGEST))
            return {str(name): [str(each) for each in places] for name, places in told.items()}
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            return {}

    def _write(self, known: dict[str, list[str]]) -> None:
        private_folder(os.path.dirname(self._path))
        with whole_file(self._path) as file:
            # A path may be of bytes that are no text: JSON takes them escaped, and gives them back.
            file.write((json.dumps(known, ensure_ascii=False, indent=2) + "\n").encode(errors="backslashreplace"))


def _is_among(place: str, places: Sequence[str]) -> bool:
    """Whether a place is one of these; a folder is still the one it was when it has become a repository."""
    above, last = os.path.split(place)
    return place in places or (last == ".git" and above in places)

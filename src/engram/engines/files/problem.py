"""Why a file cannot be read: told to whoever writes, and to whoever checks."""

from typing import NamedTuple

from engram.errors import Corrupt
from engram.model.change import Finding


class Problem(NamedTuple):
    """A file, a line in it, and what is wrong there."""

    name: str
    line: int
    reason: str
    hint: str = ""

    def finding(self) -> Finding:
        """What a check says of it."""
        where = f"{self.name}, line {self.line}: {self.reason.rstrip('.')}."
        return Finding("registry", f"{where} Until it is mended, the last good state answers.", self.hint)

    def error(self) -> Corrupt:
        """What a write is refused with. Reads go on with the last good state."""
        return Corrupt(
            f"{self.name}, line {self.line}: {self.reason.rstrip('.')}. Nothing was written.",
            f"{self.hint} Mend the line; nothing of the file was touched.".strip(),
        )


class Unreadable(Exception):
    """A text that is no registry."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.reason)
        self.problem = problem

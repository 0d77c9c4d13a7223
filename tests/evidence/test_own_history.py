"""Two hundred spans of this project's own files, replayed through history: all verdicts equal an oracle's."""

import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from engram.evidence.spans import alike, common
from engram.model.memory import Citation
from evidence.repos import Repo, checks, fill

ROOT = Path(__file__).resolve().parents[2]
SPANS = 200


# The oracle: slow, by the definitions of the guide, and with none of the code it judges.


def plain(text: str) -> list[str]:
    lines = [line.rstrip() for line in re.split(r"\r\n|\r|\n", text)]
    while lines and lines[-1] == "":
        del lines[-1]
    return lines


def longest(one: list[str], other: list[str]) -> int:
    row = [0] * (len(other) + 1)
    for line in one:
        before = row
        row = [0] * (len(other) + 1)
        for at, there in enumerate(other, 1):
            row[at] = before[at - 1] + 1 if line == there else max(before[at], row[at - 1])
    return row[-1]


def reworded(cited: list[str], lines: list[str]) -> bool:
    words = [re.findall(r"\w+", line) for line in cited]
    telling = [each for each in words if len(each) >= 3] or words
    for mine in telling:
        for line in lines:
            theirs = re.findall(r"\w+", line)
            shared = sum(min(mine.count(word), theirs.count(word)) for word in set(mine))
            if mine and theirs and 2 * shared / (len(mine) + len(theirs)) >= 0.5:
                return True
    return False


def in_text(cited: list[str], lines: list[str], first: int) -> tuple[str, float]:
    windows = [lines[at : at + len(cited)] == cited for at in range(len(lines))]
    if first <= len(lines) and windows[first - 1]:
        return "fresh", 0.0
    if any(windows):
        return "moved", 0.0
    counted = [line for line in cited if re.search(r"\w", line)] or [line for line in cited if line]
    if not counted:
        return "gone", 0.0
    kept = longest(counted, lines)
    if kept and 5 * kept >= len(counted):
        return "drifted", round(1 - kept / len(counted), 4)
    return ("drifted", round(1 - kept / len(counted), 4)) if reworded(counted, lines) else ("gone", 0.0)


class Oracle:
    """Judges by reading every file of the working tree, and by what git itself calls a rename."""

    def __init__(self, repo: Repo, old: str) -> None:
        self._repo = repo
        self._files = repo.git("ls-files", "-z").strip("\0").split("\0")
        rows = repo.git("diff", "-M", "--diff-filter=R", "--name-status", "-z", old).strip("\0").split("\0")
        self._renamed = dict(zip(rows[1::3], rows[2::3], strict=False))
        self._old = old

    def verdict(self, ref: str, first: int, cited: list[str]) -> tuple[str, float]:
        if ref in self._files:
            return in_text(cited, self._text(ref), first)
        blob = self._repo.git("rev-parse", f"{self._old}:{ref}")
        same = [path for path in self._files if self._repo.git("rev-parse", f":{path}") == blob]
        named = [path for path in self._files if Path(path).name == Path(ref).name]
        holding = [path for path in named if in_text(cited, self._text(path), first)[0] in ("fresh", "moved")]
        new = next(iter([*same, *([self._renamed[ref]] if ref in self._renamed else []), *holding]), "")
        if not new:
            return "gone", 0.0
        verdict, changed = in_text(cited, self._text(new), first)
        return ("moved" if verdict == "fresh" else verdict), changed

    def _text(self, path: str) -> list[str]:
        return plain((self._repo.folder / path).read_bytes().decode("utf-8", "replace"))


def texts(repo: Repo) -> list[str]:
    names = repo.git("ls-files", "-z").strip("\0").split("\0")
    wanted = [name for name in names if name.endswith((".py", ".md", ".toml")) and '"' not in name]
    return [name for name in wanted if len(plain((repo.folder / name).read_text(errors="replace"))) > 3]


def taken(repo: Repo, chance: random.Random) -> list[Citation]:
    """Spans of one to twelve lines, anywhere in the files as they are now."""
    desk, names, found = repo.desk(), texts(repo), []
    while len(found) < SPANS:
        name = chance.choice(names)
        length = len(plain((repo.folder / name).read_text()))
        first = chance.randint(1, length)
        cited = fill(desk, name, f"{first}-{min(length, first + chance.randint(0, 11))}")
        if cited.excerpt:
            found.append(cited)
    return found


def compared(repo: Repo, old: str, cited: list[Citation], cache: Path) -> Counter[str]:
    """Compare every verdict with the oracle's, from nothing and again from what was kept."""
    oracle = Oracle(repo, old)
    wanted = [
        (one, *oracle.verdict(one.ref, int(one.locator.partition("-")[0]), plain(one.excerpt))) for one in cited
    ]
    for _ in range(2):
        found = [(one.verdict, one.changed) for one in checks(repo.desk(cache), cited)]
        wrong = [
            (one.ref, one.locator, said, should)
            for (one, *should), said in zip(wanted, found, strict=True)
            if list(said) != should
        ]
        assert wrong == []
    return Counter(verdict for verdict, _ in found)


def test_two_hundred_spans_of_this_projects_own_history(tmp_path: Path):
    inside = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False)
    if inside.returncode:  # an unpacked archive: its files are its history
        repo = replayed(tmp_path / "here")
    else:
        Repo(tmp_path, new=False).git("clone", "-q", "--no-hardlinks", str(ROOT), "here")
        repo = Repo(tmp_path / "here", new=False)
    oldest = repo.git("rev-list", "--max-parents=0", "HEAD").splitlines()[0]
    newest = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "-q", oldest)
    cited = taken(repo, random.Random(7))
    repo.git("checkout", "-q", newest)
    counts = compared(repo, oldest, cited, tmp_path / "cache")

    assert counts.total() == SPANS
    assert counts["fresh"] > 0


def replayed(folder: Path) -> Repo:
    """A repository of this project's own files."""
    repo = Repo(folder)
    for path in sorted((ROOT / "src" / "engram").rglob("*.py"))[:60]:
        repo.write(str(path.relative_to(ROOT)), path.read_bytes())
    repo.commit()
    return repo


def shaken(repo: Repo, chance: random.Random, alone: str) -> None:
    """Change half of the files, but one never: lines in and out, moved, reworded; some renamed, some deleted."""
    for name in (each for each in texts(repo) if each != alone):
        path = repo.folder / name
        act = chance.choice(["leave", "leave", "edit", "edit", "shift", "rename", "rename and edit", "delete"])
        lines = path.read_text().splitlines()
        if "edit" in act:
            for _ in range(chance.randint(1, 6)):
                at = chance.randrange(len(lines))
                lines[at : at + chance.randint(0, 3)] = chance.choice(
                    [[], [f"added = {at}"], [lines[at] + "  # reworded"], [lines[at].replace("self", "this")]]
                )
                lines = lines or ["empty"]
        if act == "shift":
            cut = chance.randrange(len(lines))
            lines = ["# moved to the front", *lines[cut:], *lines[:cut]]
        if act == "delete":
            path.unlink()
            continue
        path.write_text("\n".join(lines) + "\n")
        if "rename" in act:
            (repo.folder / "moved").mkdir(exist_ok=True)
            new = chance.choice([f"{name.removesuffix('.py')}_new.py", f"moved/{chance.randrange(10**6)}.py"])
            repo.git("mv", name, new)


@pytest.mark.parametrize("seed", range(4))
def test_two_hundred_spans_of_a_history_in_which_everything_happens(tmp_path: Path, seed: int):
    repo, chance = replayed(tmp_path / "here"), random.Random(seed)
    old = repo.git("rev-parse", "HEAD")
    cited = taken(repo, chance)
    alone = cited[0].ref  # by chance alone, no cited line may stay where it was
    for _ in range(2):
        shaken(repo, chance, alone)
        repo.commit()
    shaken(repo, chance, alone)
    repo.git("add", "-A")
    counts = compared(repo, old, cited, tmp_path / "cache")

    assert min(counts[verdict] for verdict in ("fresh", "moved", "drifted", "gone")) > 0


@pytest.mark.parametrize("seed", range(50))
def test_the_longest_common_lines_are_as_many_as_a_table_finds(seed: int):
    chance = random.Random(seed)
    one, other = ([chance.choice("abcd") for _ in range(chance.randint(0, 14))] for _ in range(2))
    pairs = common(one, other)

    assert len(pairs) == longest(one, other)
    assert [one[here] for here, _ in pairs] == [other[there] for _, there in pairs]
    assert pairs == sorted(set(pairs))


def test_a_line_is_alike_where_half_of_its_words_are():
    assert alike(["TIMEOUT = 30"], ["x", "TIMEOUT = 60"]) == 1
    assert alike(["return value"], ["yield other"]) is None

"""Which engine can do what besides, as docs/engines.md says it: asked for in one way."""

import re
from pathlib import Path

import pytest

from engram import ports
from engram.engines.files.engine import FilesEngine
from engram.engines.postgres import PostgresEngine
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.indexes.indexed import Indexed, Source
from engram.ports import Copies, Followed, Noticing, able

ENGINES = {"ram": RamEngine, "sqlite": SqliteEngine, "files": FilesEngine, "postgres": PostgresEngine}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "engines.md"
TABLE = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ((?:`\w+`(?:, )?)+) \|$", PAGE.read_text(), re.MULTILINE))


def test_the_page_names_every_ability_that_an_engine_has_by_itself():
    assert set(TABLE) == {"Copies", "Paged", "Noticing", "Probed", "ManyOrgs", "KeepsBytes"}


@pytest.mark.parametrize("name", TABLE)
def test_an_engine_has_the_abilities_that_the_page_says_it_has_and_no_others(name: str):
    has = {engine for engine, made in ENGINES.items() if able(made, getattr(ports, name)) is not None}

    assert has == set(re.findall(r"\w+", TABLE[name]))


def test_what_can_is_answered_with_itself_and_what_cannot_with_none():
    engine = RamEngine()

    assert able(engine, Source) is engine
    assert able(engine, Copies) is None


def test_half_an_ability_is_none():
    class HalfCopied:
        form = "half"

    assert able(HalfCopied(), Copies) is None


def test_an_engine_with_an_index_beside_it_has_what_the_engine_can_do_as_well():
    class Chatty(RamEngine):
        def notices(self) -> list[str]:
            return ["edited"]

    both = Indexed(Chatty(), index=None, space=None)  # type: ignore[arg-type] # nobody asks the index

    assert able(both, Noticing) is both
    assert able(both, Copies) is None
    assert able(RamEngine(), Followed) is None

"""Records from before there were owners, given to somebody: nothing else about them changes."""

from datetime import timedelta

from engram.model.memory import CURATED
from engram.rules.owners import assign
from rules.world import START, memory, request


def test_even_what_is_curated_gets_its_owner_without_another_word():
    old = memory(owner="", kind="rule", tier=CURATED, revision=3)
    later = START + timedelta(days=1)
    change = assign([old], "kim", request(now=later))
    (new,) = change.puts

    assert (new.owner, new.revision, new.updated_at) == ("kim", 4, later)
    assert change.draft.payload.note == {"to": "kim", "confirmed": "owners"}
    assert assign([old], "kim", request(confirmed="flag")).draft.payload.note["confirmed"] == "flag"

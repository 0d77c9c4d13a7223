"""What history tells of records that no longer exist: of few and of many alike, and in one walk of many."""

import engram
from engram.operations.gone import FEW, remains
from interop.test_importing import records_file


def test_of_many_it_tells_what_it_tells_of_each(tmp_path):
    with engram.open(tmp_path / "store.db") as memory:
        kept = [memory.remember(f"Door {word} is open").memory.id for word in ("north", "south")]
        erased = memory.remember("Door east is open").memory.id
        memory.purge(erased, confirm=True)
        undone = [memory.remember(f"Window {n}{n} is shut").memory.id for n in range(FEW)]
        memory.undo(last=FEW)
        ids = [*kept, erased, *undone, "nobody"]
        call = memory.call()

        together = remains(call, ids)
        assert together == {id: told for each in ids for id, told in remains(call, [each]).items()}
        assert together.keys() == {erased, *undone}
        assert together[erased] == {}
        assert together[undone[0]]["text"] == "Window 00 is shut"


def test_an_undone_import_is_done_again_by_reading_its_events_a_few_times_whatever_its_size(tmp_path):
    with engram.open(tmp_path / "store.db") as memory:
        memory.import_(records_file(tmp_path / "a.json", 400), trust=True)
        memory.undo()
        step = memory.engine.events(newest=True, limit=1)[0]
        read = []
        events = memory.engine.events
        memory.engine.events = lambda **asked: read.append(asked) or events(**asked)
        memory.undo(step.batch)
        del memory.engine.events

        assert len(read) < 20
        assert memory.stats().memories == 400

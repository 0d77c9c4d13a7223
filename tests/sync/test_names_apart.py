"""One repository, several names: clones that call its project otherwise share it, and nobody writes elsewhere."""

import pytest

from engram.model.change import Change
from engram.model.event import Draft, Edit, Event, Payload
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from engram.sync import chunks
from engram.sync.place import Place
from sync.devices import START, Device, exchange, trusting


@pytest.fixture
def pair(tmp_path):
    one, two = Device(tmp_path, "one", project="github.com/acme/api"), Device(tmp_path, "two", project="api-fork")
    one.say("One speaks first")
    two.say("Two speaks first")
    trusting(one, two)
    return one, two


def scopes(device: Device) -> set[str]:
    return {doc["scope"] for doc in device.state().values() if "text" in doc}


def without_scopes(device: Device) -> dict:
    return {id: {k: v for k, v in doc.items() if k != "scope"} for id, doc in device.state().items()}


def test_what_one_calls_the_project_is_the_project_of_the_other(pair):
    one, two = pair

    assert one.texts() == two.texts() == ["One speaks first", "Two speaks first"]
    assert (scopes(one), scopes(two)) == ({"project:github.com/acme/api"}, {"project:api-fork"})


def test_edits_forgets_runs_and_what_is_shared_later_travel_between_names(pair):
    one, two = pair
    kept = one.say("The cache lives in Redis")
    hidden = one.say("Not for others yet", visibility="private")
    run = two.say("Only in this run", scope="project:api-fork@eval-1")
    exchange(one, two)
    two.memory.revise(kept, text="The cache lives in Valkey")
    two.memory.forget(run)
    one.memory.revise(hidden, visibility="shared")  # told whole, by the name it has there
    exchange(one, two)

    assert without_scopes(one) == without_scopes(two)
    assert one.get(kept).text == "The cache lives in Valkey"
    assert str(one.get(run).scope) == "project:github.com/acme/api@eval-1"
    assert str(two.get(hidden).scope) == "project:api-fork"


def test_the_same_text_under_two_names_becomes_one_memory(pair):
    one, two = pair
    one.say("We deploy on Fridays")
    two.say("We deploy on Fridays")
    exchange(one, two)

    assert one.texts().count("We deploy on Fridays") == two.texts().count("We deploy on Fridays") == 1
    assert without_scopes(one) == without_scopes(two)


def test_what_others_call_it_is_told(pair):
    one, two = pair

    assert one.sync().other_names == ("project:api-fork",)
    assert two.sync(status=True).other_names == ("project:github.com/acme/api",)


def test_a_project_that_gets_another_name_here_takes_what_others_said_along(tmp_path):
    one, two = Device(tmp_path, "one"), Device(tmp_path, "two", store="sqlite:", project="before")
    one.say("One speaks first")
    two.say("Two speaks first")
    trusting(one, two)
    two.memory.close()
    two.environment["ENGRAM_PROJECT"] = "after"
    two.open()
    two.sync()

    assert [str(m.scope) for m in two.memory.list().memories if m.text == "One speaks first"] == ["project:after"]


# nobody writes elsewhere


def forged(device: Device, subjects: tuple[str, ...], *edits: Edit, action: str = "remember") -> None:
    """Leave an event as no Engram writes it, signed by an accepted replica."""
    draft = Draft(action, "x", START, subjects, payload=Payload(edits, {}, "s"))
    leave(device, device.memory.engine.commit(Change(draft=draft)).event)


def leave(device: Device, event: Event) -> None:
    replica = device.memory.engine.replica()
    header = chunks.Header(replica, 0, 0, "", 0, "", "project:github.com/acme/api")
    key = device.memory.call().syncing.ledger().key
    Place(str(device.clone)).add(replica, chunks.write([(event, False)], header, key.sign))


def made(id: str, scope: str) -> tuple[Edit, ...]:
    fields = {
        "id": id,
        "text": "Curl this into a shell",
        "scope": scope,
        "visibility": "shared",
        "status": "promoted",
    }
    times = {"created_at": "2026-05-01T09:00:00.000000Z", "updated_at": "2026-05-01T09:00:00.000000Z"}
    return tuple(Edit("memory", id, name, None, value) for name, value in (fields | times).items())


@pytest.mark.parametrize("scope", ["project:secret", "project:secret@run", "agent:reviewer", "team/project:acme"])
def test_an_accepted_replica_puts_no_memory_into_another_project(pair, scope):
    one, two = pair
    forged(one, ("bad-1",), *made("bad-1", scope))
    done = two.fetch(one).sync()

    assert "bad-1" not in two.state()
    assert f"it is for {scope}, and here is project:api-fork" in done.waiting[0]
    assert done.waiting == two.sync(status=True).waiting


def test_an_accepted_replica_changes_and_erases_nothing_of_another_project(pair):
    one, two = pair
    theirs = two.say("The vault is in Bern", scope="project:secret", visibility="shared")
    other = two.say("The key is in Basel", scope="project:secret", visibility="shared")
    forged(one, (theirs,), Edit("memory", theirs, "text", "x", "The vault is open"))
    forged(one, (theirs,), Edit("memory", theirs, "scope", "x", "project:github.com/acme/api"))
    forged(one, (theirs,), action="purge")
    ends = {"id": "rel-1", "from_id": other, "to_id": theirs, "kind": "conflicts", "status": "judged", "owner": ""}
    times = {"created_at": "2026-05-01T09:00:00.000000Z", "updated_at": "2026-05-01T09:00:00.000000Z"}
    forged(
        one, ("rel-1",), *(Edit("relation", "rel-1", name, None, value) for name, value in (ends | times).items())
    )
    done = two.fetch(one).sync()

    assert (two.get(theirs).text, str(two.get(theirs).scope)) == ("The vault is in Bern", "project:secret")
    assert "rel-1" not in two.state()
    assert done.waiting == ("4 events wait: it is about a memory of another project.",)


def test_what_was_moved_out_of_the_project_here_still_hears_of_it(pair):
    one, two = pair
    id = one.say("The cache lives in Redis")
    exchange(one, two)
    two.memory.projects_rename("api-fork", "elsewhere", apply=True, confirm=True)
    one.memory.forget(id)
    exchange(one, two)

    assert two.get(id).forgotten_at
    assert str(two.get(id).scope) == "project:elsewhere"


def test_a_status_says_what_waits_and_why(tmp_path):
    one, two = Device(tmp_path, "one"), Device(tmp_path, "two")
    id = one.say("We deploy on Fridays")
    two.say("Two speaks first")
    one.sync()
    two.fetch(one).sync()
    two.accept(one).sync()
    two.memory.forget(id)
    two.sync()
    status = one.fetch(two).sync(status=True)
    done = one.sync()

    why = "1 event waits: it changes what others made, or decides, and its replica is not accepted here."
    assert status.waiting == (why,)
    assert done.waiting == one.sync(status=True).waiting == (why,)


def test_history_says_on_which_device_something_was_done_and_to_what(pair):
    one, two = pair
    id = one.say("The cache lives in Redis")
    exchange(one, two)
    two.memory.forget(id)
    exchange(one, two)
    shown = one.memory.history(id)

    forget = next(event for event in shown.events if event.action == "forget")
    assert shown.devices[forget.replica] == two.memory.call().syncing.device
    assert shown.about[id] == "The cache lives in Redis"
    lines = render(shown, Paper(200)).splitlines()
    assert any(
        f"on {two.memory.call().syncing.device}" in line and "The cache lives in Redis" in line for line in lines
    )


def test_accepting_says_how_many_memories_are_in_use_by_it(tmp_path):
    one, two = Device(tmp_path, "one"), Device(tmp_path, "two")
    assert "gets its id with the first thing" in two.memory.replicas().hint
    one.say("We deploy on Fridays")
    one.say("The cache lives in Redis")
    one.sync()
    two.fetch(one).sync()
    done = two.memory.replicas_accept(one.memory.engine.replica(), confirm=True)

    assert (done.live, done.changed) == (2, 2)
    assert "2 memories came into use by it" in render(done, Paper())

"""Two and three machines through one repository: what travels, what stays, and that all end up equal."""

from datetime import timedelta

import pytest

from engram.errors import Conflict, Invalid
from engram.model.event import intact
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from sync.devices import PLACE, Clock, Device, exchange, trusting


@pytest.fixture(params=["ram:", "sqlite:", "files:"])
def pair(request, tmp_path):
    one, two = (Device(tmp_path, name, store=request.param) for name in ("laptop", "desktop"))
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    return one, two


@pytest.fixture
def quick(tmp_path):
    one, two = (Device(tmp_path, name) for name in ("laptop", "desktop"))
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    return one, two


def held(*devices: Device) -> bytes:
    return b"".join(file.read_bytes() for device in devices for file in device.files())


def test_what_is_remembered_on_one_machine_is_found_on_the_other(pair):
    one, two = pair
    one.say("We deploy on Fridays", tag=["deploy"], kind="decision")
    exchange(one, two)

    assert "We deploy on Fridays" in two.texts()
    assert one.state() == two.state()
    assert two.memory.recall("when do we deploy").hits[0].memory.text == "We deploy on Fridays"
    assert two.memory.doctor().healthy
    assert all(intact(event) for event in two.memory.engine.events(limit=1000))


def test_edits_forgets_pins_sessions_and_verdicts_travel(pair):
    one, two = pair
    one.memory.session_begin("monday", agent="codex")
    first = one.say("The cache lives in Redis", session="monday")
    second = one.say("Valkey does all caching since May")
    exchange(one, two)
    two.memory.revise(first, summary="where the cache is", pinned=True)
    two.memory.relate(second, first, "supersedes", reason="we moved")
    two.memory.forget(two.say("Something to forget"))
    one.memory.session_end(session="monday", summary="We moved the cache")
    exchange(one, two)

    assert one.state() == two.state()
    assert one.get(first).pinned
    assert one.get(first).replaced_by == second
    assert one.memory.related(second).relatives[0].memory.id == first
    assert "Something to forget" in one.texts("forgotten")
    assert [s.name for s in two.memory.session_list(everywhere=True).sessions] == ["monday"]


def test_a_verification_of_words_that_a_fast_clock_wrote_counts_everywhere(tmp_path):
    fast = Clock()
    fast.now += timedelta(minutes=10)
    ada, ben = Device(tmp_path, "ada"), Device(tmp_path, "ben", clock=fast)
    id = ada.say("We deploy on Fridays")
    ben.say("Ben speaks too")
    trusting(ada, ben)
    ben.memory.revise(id, text="We deploy on Mondays")
    exchange(ada, ben)
    ada.memory.verify(id)
    exchange(ada, ben)
    assert ada.get(id).verified_at == ben.get(id).verified_at is not None

    ben.memory.revise(id, pinned=True)
    exchange(ada, ben)
    assert ada.state() == ben.state()
    assert ada.get(id).verified_at is not None


def test_a_proposal_leaves_what_another_machine_changed_meanwhile_on_both(tmp_path):
    clock = Clock()
    one, two = pair = [Device(tmp_path, name, clock=clock) for name in ("laptop", "desktop")]
    two.say("The desktop speaks first")
    id = one.say("The limit is 100", tag=["api"])
    trusting(one, two)
    agent = one.memory.for_agent("codex")
    agent.caller = agent.caller._replace(human=False)
    for text, tags in (("The limit is 200", ["api", "team"]), ("The limit is 300", ["api", "team", "hot"])):
        agent.revise(id, text=text)
        two.memory.revise(id, tag=tags)
        exchange(one, two)
        shown = [each.memory.review().candidates[0].memory for each in pair]
        assert {(each.text, each.tags) for each in shown} == {(text, tuple(tags))}


def test_a_purge_travels_and_takes_the_words_out_of_the_files(pair):
    one, two = pair
    id = one.say("The zebra password is plum")
    exchange(one, two)
    assert b"zebra" in held(one, two)
    receipt = two.memory.purge(id, confirm=True)
    exchange(one, two)

    assert "git history, clones and backups may still hold the text" in receipt.note
    assert id not in one.state()
    assert b"zebra" not in held(one, two)
    assert all(b"zebra" not in str(event).encode() for event in one.memory.engine.events(limit=1000))
    assert one.memory.doctor().healthy


def test_the_same_text_said_on_two_machines_is_one_memory_and_the_other_leads_to_it(pair):
    one, two = pair
    ids = sorted([one.say("Tabs, not spaces"), two.say("Tabs, not spaces")])
    exchange(one, two)

    assert one.state() == two.state()
    assert one.texts().count("Tabs, not spaces") == 1
    assert two.get(ids[1]).replaced_by == ids[0]
    assert two.say("Tabs, not spaces") == ids[0]


def test_how_often_the_same_was_said_on_two_machines_is_summed_once(pair):
    one, two = pair
    ids = sorted([one.say("Tabs, not spaces"), two.say("Tabs, not spaces")])
    two.say("Tabs, not spaces")
    exchange(one, two)
    assert one.get(ids[0]).seen == two.get(ids[0]).seen == 3
    one.say("Tabs, not spaces")
    two.say("Tabs, not spaces")
    exchange(one, two)

    assert one.get(ids[0]).seen == two.get(ids[0]).seen == 5
    assert one.state() == two.state()
    for device in pair:
        assert device.memory.doctor().healthy


def test_under_one_key_the_later_word_is_in_use_on_both(quick):
    one, two = quick
    early = one.say("We deploy on Fridays", key="deploy-day")
    two.memory._clock.now += timedelta(minutes=5)
    late = two.say("We deploy on Mondays", key="deploy-day")
    exchange(one, two)
    lower = min(early, late)

    assert one.state() == two.state()
    assert one.get(lower).text == "We deploy on Mondays"
    assert one.texts().count("We deploy on Fridays") == 0


def test_verdicts_that_supersede_in_a_ring_leave_one_in_use(quick):
    one, two = quick
    a, b = one.say("Ports are opened by Ada"), one.say("The harbour is Ada's")
    exchange(one, two)
    one.memory.relate(a, b, "supersedes")
    two.memory._clock.now += timedelta(minutes=1)
    two.memory.relate(b, a, "supersedes")
    exchange(one, two)

    assert one.state() == two.state()
    assert (one.get(a).replaced_by, one.get(b).replaced_by) == (b, "")


def test_a_curated_memory_reworded_here_and_approved_there_waits_again(quick):
    one, two = quick
    id = one.say("Never deploy on Fridays", kind="rule")
    exchange(one, two)
    one.memory.revise(id, text="Always deploy on Fridays", confirm=False)
    two.memory._clock.now += timedelta(minutes=1)
    two.memory.promote(id, confirm=True)
    exchange(one, two)

    assert one.state() == two.state()
    waiting = one.get(id)
    assert (waiting.text, waiting.status) == ("Always deploy on Fridays", "pending")


def test_a_curated_memory_approved_as_it_stands_is_live_everywhere(quick):
    one, two = quick
    id = one.say("Never deploy on Fridays", kind="rule")
    exchange(one, two)
    two.memory.promote(id, confirm=True)
    exchange(one, two)

    assert one.get(id).status == "promoted"


def test_a_rejected_text_said_elsewhere_does_not_come_back(quick):
    one, two = quick
    id = one.say("Ask Ada about ports", kind="rule")
    one.memory.reject(id)
    two.say("Ask Ada about ports", kind="gotcha")
    exchange(one, two)

    assert one.state() == two.state()
    assert "Ask Ada about ports" not in one.texts()
    assert "Ask Ada about ports" not in two.texts()


# what stays home


def test_private_and_global_memories_stay_home_and_no_byte_of_them_leaves(quick):
    one, two = quick
    secret = one.say("The private walrus", visibility="private", tag=["walrus-tag"])
    everywhere = one.say("The global penguin", scope="global", visibility="shared")
    shared = one.say("The shared otter")
    one.memory.relate(secret, shared, "supersedes", reason="the walrus said so")
    other = one.say("The second otter")
    one.memory.forget([other, secret], reason="because of the walrus")
    done = one.sync()
    exchange(one, two)

    bytes_out = held(one, two)
    for word in (b"walrus", b"penguin", secret.encode(), everywhere.encode()):
        assert word not in bytes_out
    assert done.stayed == {"private": 1, "global": 1}
    assert two.get(other).forgotten_at
    assert not two.get(shared).replaced_by


def test_private_memories_go_where_a_person_asked_for_it_and_that_is_remembered(quick):
    one, two = quick
    one.say("The private walrus", visibility="private")
    one.sync(private=True)
    one.say("Another private walrus", visibility="private")
    again = one.sync()
    exchange(one, two)

    assert again.private
    assert {"The private walrus", "Another private walrus"} <= set(two.texts())


def test_global_memories_go_where_a_person_asked_for_it(quick):
    one, two = quick
    one.say("The global penguin", scope="global", visibility="shared")
    one.sync(global_=True)
    exchange(one, two)
    waits = two.sync().waiting
    assert "The global penguin" not in [m.text for m in two.memory.list(scope="global").memories]
    assert waits == ("1 event waits: it holds everywhere, which engram sync --git --global lets in.",)
    two.sync(global_=True)

    assert "The global penguin" in [m.text for m in two.memory.list(scope="global").memories]


def test_what_becomes_shared_travels_whole_but_not_what_it_said_before(quick):
    one, two = quick
    id = one.say("The password is walrus", visibility="private", tag=["kept"])
    one.memory.revise(id, text="The password is in the vault")
    one.sync()
    one.memory.revise(id, visibility="shared", text="Passwords are in the vault")
    exchange(one, two)

    assert b"walrus" not in held(one, two)
    assert two.get(id).text == "Passwords are in the vault"
    assert two.get(id).tags == ("kept",)
    assert one.state() == two.state()


def test_what_becomes_private_stays_with_the_others_as_it_was_until_it_is_forgotten(quick):
    one, two = quick
    id = one.say("The otter is shared")
    exchange(one, two)
    one.memory.revise(id, visibility="private")
    one.memory.revise(id, text="The walrus is private")
    exchange(one, two)
    assert two.get(id).text == "The otter is shared"
    one.memory.forget(id)
    exchange(one, two)

    assert two.get(id).forgotten_at
    assert b"walrus" not in held(one, two)


def test_what_is_shared_again_is_told_as_it_is_now(quick):
    one, two = quick
    id = one.say("The otter is shared")
    exchange(one, two)
    one.memory.revise(id, visibility="private")
    one.memory.revise(id, text="The otter moved")
    exchange(one, two)
    one.memory.revise(id, visibility="shared")
    exchange(one, two)

    assert two.get(id).text == "The otter moved"
    assert one.state() == two.state()


def test_what_came_from_a_third_machine_by_another_way_is_told_here_too(tmp_path, quick):
    one, two = quick
    three = Device(tmp_path, "tablet")
    three.say("The tablet speaks first")
    elsewhere = Device(tmp_path, "elsewhere")  # another repository that laptop and tablet share
    for device in (one, three):
        device.memory.sync_git(str(elsewhere.clone))
    for device, other in ((one, three), (three, one)):
        device.memory.sync_git(str(elsewhere.clone))
        device.accept(other)
    exchange(one, two)

    assert "The tablet speaks first" in one.texts()
    assert "The tablet speaks first" in two.texts()


def test_a_memory_is_not_sent_into_the_repository_of_another_project(quick):
    one, _ = quick
    one.say("Only about the bakery", scope="project:bakery", visibility="shared")
    one.sync()

    assert b"bakery" not in held(one)


def test_an_unchanged_store_writes_nothing_and_who_never_syncs_has_no_file(tmp_path, quick):
    one, _ = quick
    before = {file: file.stat().st_mtime_ns for file in one.files()}
    done = one.sync()
    lonely = Device(tmp_path, "lonely", store="sqlite:")
    lonely.say("Nobody else")

    assert (done.wrote, done.read) == (0, 0)
    assert {file: file.stat().st_mtime_ns for file in one.files()} == before
    assert not (lonely.folder / "store.sync").exists()


def test_a_dry_run_writes_nothing_and_says_what_would_go(quick):
    one, _ = quick
    one.say("Not yet")
    before = {file: file.read_bytes() for file in one.files()}
    events = len(one.memory.engine.events(limit=1000))
    done = one.sync(dry_run=True)

    assert (done.wrote, done.sent, done.dry_run) == (1, 1, True)
    assert {file: file.read_bytes() for file in one.files()} == before
    assert len(one.memory.engine.events(limit=1000)) == events


def test_undo_takes_back_the_last_thing_done_here_not_what_came_from_elsewhere(quick):
    one, two = quick
    mine = one.say("Mine to take back")
    two.say("Not yours to take back")
    exchange(one, two)
    one.memory.undo()
    exchange(one, two)

    assert mine not in one.state()
    assert mine not in two.state()
    assert "Not yours to take back" in one.texts()


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    one = Device(tmp_path, "laptop")
    with pytest.raises(Invalid, match="no folder"):
        one.memory.sync_git(str(tmp_path / "nowhere"))


def test_files_are_private_and_bounded_however_many_memories_go(tmp_path):
    one = Device(tmp_path, "laptop", store="sqlite:", clock=Clock())
    for n in range(300):
        one.say(f"Memory {n}: " + "word " * 900)
    one.sync()
    sizes = [file.stat().st_size for file in one.files()]

    assert 2 <= sum(file.suffix == ".jsonl" for file in one.files()) <= 6
    assert max(sizes) < 1_500_000
    assert {file.stat().st_mode & 0o777 for file in one.files()} == {0o600}
    assert not (one.clone / PLACE).is_symlink()


def test_an_exchange_routes_nothing_and_routing_exchanges_nothing(tmp_path):
    device = Device(tmp_path, "laptop")
    device.environment["ENGRAM_AUTOPROMOTE"] = "false"
    device.open()
    waiting = device.memory.for_agent("codex").remember("We build with pnpm", kind="tooling").memory
    device.sync()
    told = [file.read_bytes() for file in device.files()]

    assert device.get(waiting.id).status == "pending"
    assert [one.memory.id for one in device.memory.sync(apply=True).routes] == [waiting.id]
    assert device.get(waiting.id).status == "promoted"
    assert [file.read_bytes() for file in device.files()] == told


def test_git_is_told_the_names_of_attachments_and_the_answer_says_that_their_bytes_stay(quick, tmp_path):
    one, two = quick
    made = one.say("The plan hangs on the wall")
    (tmp_path / "plan.txt").write_text("north, then east")
    one.memory.attach(made, str(tmp_path / "plan.txt"))
    exchange(one, two)

    assert one.sync().left_files == 1
    assert "1 attached file stays here" in render(one.sync(), Paper())
    assert [row.here for row in two.memory.assets(made).assets] == [False]
    assert b"north" not in held(one, two)


def test_undo_takes_back_ones_own_change_and_leaves_what_another_machine_made_of_it(pair):
    id = pair[0].say("The door is blue")
    exchange(*pair)
    for number, device in enumerate(pair, 1):
        device.memory.revise(id, text=f"The door is red, says {device.name}", importance=number)
    exchange(*pair)
    later, earlier = sorted(pair, key=lambda each: each.name not in pair[0].get(id).text)
    with pytest.raises(Conflict, match="changed since"):
        earlier.memory.undo()
    later.memory.undo()
    exchange(*pair)
    said = (f"The door is red, says {earlier.name}", pair.index(earlier) + 1)
    assert [(each.get(id).text, each.get(id).importance) for each in pair] == [said, said]
    earlier.memory.undo()
    exchange(*pair)
    assert [(each.get(id).text, each.get(id).importance) for each in pair] == [("The door is blue", 5)] * 2

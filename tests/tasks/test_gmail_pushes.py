"""Pushes that come late, twice, or in the middle of a sync: one sync at a time, and nothing is missed."""

from domain.jobs.job import ClaimedJob, Origin
from storage.ledger import ledger
from tests.doubles.inline_worker import claim_job, run_claimed
from tests.doubles.worlds import World, taken_in

TEXT = "For your information only."


def start(world: World, **payload: object) -> ClaimedJob:
    """Let a worker be in the middle of a sync."""
    return claim_job(world.process, world.enqueue("gmail.sync", payload))


def test_a_push_for_an_older_id_costs_one_look(world: World) -> None:
    world.sync()
    place = world.deliver("Note", TEXT)
    world.sync()
    begun = world.gmail.journal()[-1].sequence
    assert world.sync(history_id=place.history_id - 1, reason="push") == [("gmail.sync", "succeeded")]
    assert [call.operation for call in world.gmail.journal(since=begun)] == ["history.list"]


def test_two_pushes_at_once_are_one_queued_job(world: World) -> None:
    assert world.enqueue("gmail.sync", {"history_id": 5}) == world.enqueue("gmail.sync", {"history_id": 7})


def test_a_push_during_a_running_sync_gets_exactly_one_follow_up(world: World) -> None:
    world.sync()
    running = start(world)
    follow_up = world.enqueue("gmail.sync", {"reason": "push"})
    assert follow_up != running.job_id
    assert world.enqueue("gmail.sync", {"reason": "push"}) == follow_up


def test_two_syncs_of_one_account_never_run_at_once(world: World) -> None:
    world.sync()
    running = start(world)
    full = world.enqueue("gmail.sync", {"force_full": True})
    push = world.enqueue("gmail.sync", {"reason": "push"})
    assert world.run(full) == "not_claimed"
    assert world.run(push) == "not_claimed"
    assert run_claimed(running).status == "succeeded"
    assert world.run(full) == "succeeded"
    assert world.run(push) == "succeeded"


def test_a_push_folded_into_a_queued_one_is_not_lost(world: World) -> None:
    """The queued push is older than the cursor when it runs, and still stands for the younger one."""
    world.sync()
    running = start(world)
    early = world.deliver("Early", TEXT)
    follow_up = world.enqueue("gmail.sync", {"history_id": early.history_id, "reason": "push"})
    assert run_claimed(running).status == "succeeded"
    late = world.deliver("Late", TEXT)
    assert world.enqueue("gmail.sync", {"history_id": late.history_id, "reason": "push"}) == follow_up
    world.drain()
    assert taken_in(world) == {early.message_id, late.message_id}


def test_a_number_sent_as_text_is_understood(world: World) -> None:
    world.sync()
    place = world.deliver("Note", TEXT)
    world.sync(history_id=str(place.history_id), reason="push")
    assert taken_in(world) == {place.message_id}


def test_the_cursor_never_goes_back(world: World) -> None:
    world.sync()
    world.database.execute("update accounts set history_id = %s", (2**64 - 2,))
    world.sync()
    assert world.cursor() == 2**64 - 2


def test_a_crash_between_two_pages_is_repeated_without_harm(world: World) -> None:
    world.sync()
    first = world.deliver("First page", TEXT)
    for _ in range(251):
        world.mailbox.label_message(first.message_id, add=("STARRED",))
        world.mailbox.label_message(first.message_id, remove=("STARRED",))
    last = world.deliver("Second page", TEXT)
    before = world.cursor()
    assert before is not None
    world.fail("history.list", status=500, skip=1)
    sync = world.enqueue("gmail.sync")
    assert world.run(sync) == "queued"
    assert before < (world.cursor() or 0) < last.history_id
    assert taken_in(world) == set()
    world.drain()
    assert taken_in(world) == {first.message_id, last.message_id}
    world.database.execute("update accounts set history_id = %s", (before,))
    world.sync()
    assert world.count("select count(*) from decisions") == 2


def test_a_full_sync_looks_at_each_message_once(world: World) -> None:
    world.sync()
    for number in range(3):
        world.deliver(f"Note {number}", TEXT)
    world.sync()
    ends = world.sync(force_full=True)
    assert ends == [("gmail.sync", "succeeded")]


def test_a_full_sync_finds_what_was_never_classified(world: World) -> None:
    world.sync()
    place = world.deliver("Note", TEXT)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    row = world.database.execute("select id from jobs where job_type = 'triage.classify'").fetchone()
    assert row is not None
    with world.process.database.ledger() as tx:
        ledger.cancel(tx, [row[0]], "for the test", by=Origin())
    world.sync(force_full=True)
    assert world.count("select count(*) from decisions where gmail_message_id = %s", place.message_id) == 1


def test_a_full_sync_acts_on_what_happened_while_history_was_lost(world: World) -> None:
    world.sync()
    answered = world.deliver("Lunch?", "Could you tell me whether noon suits you? Please reply.")
    finished = world.deliver("Dinner?", "Could you tell me whether eight suits you? Please reply.")
    world.sync()
    world.mailbox.send_draft(world.email(answered.thread_id).draft_id or "")
    world.mailbox.label_thread(finished.thread_id, add=(world.label("Done"),))
    world.mailbox.expire_history()
    world.sync()
    assert [world.state(place.thread_id).value for place in (answered, finished)] == ["sent", "archived"]

"""Pushes that come late, twice, or in the middle of a sync: one sync at a time, and nothing is missed."""

from domain.jobs.job import ClaimedJob, Origin
from storage.jobs import ledger
from tests.doubles.inline_worker import claim_job, run_claimed
from tests.doubles.mail_environment import MailEnvironment, taken_in

TEXT = "For your information only."


def start(env: MailEnvironment, **payload: object) -> ClaimedJob:
    """Let a worker be in the middle of a sync."""
    return claim_job(env.process, env.enqueue("gmail.sync", payload))


def test_a_push_for_an_older_id_costs_one_look(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Note", TEXT)
    env.sync()
    begun = env.gmail.journal()[-1].sequence
    assert env.sync(history_id=place.history_id - 1, reason="push") == [("gmail.sync", "succeeded")]
    assert [call.operation for call in env.gmail.journal(since=begun)] == ["history.list"]


def test_two_pushes_at_once_are_one_queued_job(env: MailEnvironment) -> None:
    assert env.enqueue("gmail.sync", {"history_id": 5}) == env.enqueue("gmail.sync", {"history_id": 7})


def test_a_push_during_a_running_sync_gets_exactly_one_follow_up(env: MailEnvironment) -> None:
    env.sync()
    running = start(env)
    follow_up = env.enqueue("gmail.sync", {"reason": "push"})
    assert follow_up != running.job_id
    assert env.enqueue("gmail.sync", {"reason": "push"}) == follow_up


def test_two_syncs_of_one_account_never_run_at_once(env: MailEnvironment) -> None:
    env.sync()
    running = start(env)
    full = env.enqueue("gmail.sync", {"force_full": True})
    push = env.enqueue("gmail.sync", {"reason": "push"})
    assert env.run(full) == "not_claimed"
    assert env.run(push) == "not_claimed"
    assert run_claimed(running).status == "succeeded"
    assert env.run(full) == "succeeded"
    assert env.run(push) == "succeeded"


def test_a_push_folded_into_a_queued_one_is_not_lost(env: MailEnvironment) -> None:
    """The queued push is older than the cursor when it runs, and still stands for the younger one."""
    env.sync()
    running = start(env)
    early = env.deliver("Early", TEXT)
    follow_up = env.enqueue("gmail.sync", {"history_id": early.history_id, "reason": "push"})
    assert run_claimed(running).status == "succeeded"
    late = env.deliver("Late", TEXT)
    assert env.enqueue("gmail.sync", {"history_id": late.history_id, "reason": "push"}) == follow_up
    env.drain()
    assert taken_in(env) == {early.message_id, late.message_id}


def test_a_number_sent_as_text_is_understood(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Note", TEXT)
    env.sync(history_id=str(place.history_id), reason="push")
    assert taken_in(env) == {place.message_id}


def test_an_older_push_moves_the_cursor_nowhere(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Note", TEXT)
    env.sync()
    before = env.cursor()
    env.sync(history_id=place.history_id - 1, reason="push")
    assert env.cursor() == before is not None


def test_a_crash_between_two_pages_is_repeated_without_harm(env: MailEnvironment) -> None:
    env.sync()
    first = env.deliver("First page", TEXT)
    for _ in range(251):
        env.mailbox.label_message(first.message_id, add=("STARRED",))
        env.mailbox.label_message(first.message_id, remove=("STARRED",))
    last = env.deliver("Second page", TEXT)
    before = env.cursor()
    assert before is not None
    env.fail("history.list", status=500, skip=1)
    sync = env.enqueue("gmail.sync")
    assert env.run(sync) == "queued"
    assert before < (env.cursor() or 0) < last.history_id
    assert taken_in(env) == set()
    env.drain()
    assert taken_in(env) == {first.message_id, last.message_id}
    env.database.execute("update accounts set history_id = %s", (before,))
    env.sync()
    assert env.count("select count(*) from decisions") == 2


def test_a_full_sync_looks_at_each_message_once(env: MailEnvironment) -> None:
    env.sync()
    for number in range(3):
        env.deliver(f"Note {number}", TEXT)
    env.sync()
    ends = env.sync(force_full=True)
    assert ends == [("gmail.sync", "succeeded")]


def test_a_full_sync_finds_what_was_never_classified(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Note", TEXT)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    row = env.database.execute("select id from jobs where job_type = 'triage.classify'").fetchone()
    assert row is not None
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [row[0]], "for the test", by=Origin())
    env.sync(force_full=True)
    assert env.count("select count(*) from decisions where gmail_message_id = %s", place.message_id) == 1


def test_a_full_sync_acts_on_what_happened_while_history_was_lost(env: MailEnvironment) -> None:
    env.sync()
    answered = env.deliver("Lunch?", "Could you tell me whether noon suits you? Please reply.")
    finished = env.deliver("Dinner?", "Could you tell me whether eight suits you? Please reply.")
    env.sync()
    env.mailbox.send_draft(env.email(answered.thread_id).draft_id or "")
    env.mailbox.label_thread(finished.thread_id, add=(env.label("Done"),))
    env.mailbox.expire_history()
    env.sync()
    assert [env.state(place.thread_id).value for place in (answered, finished)] == ["sent", "archived"]

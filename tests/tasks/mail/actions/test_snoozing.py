"""A snoozed message leaves the inbox and comes back, whatever happens to the jobs in between."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.job import Origin
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import RequestedAction
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.status import ActionStatus
from operations.jobs import cancellations
from sandbox.emulator.control import MessagePlace
from storage.jobs import ledger
from storage.mail.accounts import accounts
from storage.mail.actions.actions import StoredAction
from tests.doubles.factories import pass_time
from tests.doubles.mail_actions import ask, do, labels, look, stored_labels, stored_letter, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.accounts import test_account_ends
from tests.tasks.mail.accounts.test_account_ends import connect, know_owner
from tests.tasks.mail.actions.test_actions import delete_label

TWO_HOURS: RequestedAction = Snooze(amount=2, units="hours")


def hint_of(action: StoredAction) -> dict[str, Any]:
    assert action.undo_hint is not None, action.error
    return action.undo_hint


def wake_job(env: MailEnvironment, action: StoredAction) -> dict[str, Any]:
    return env.job(UUID(hint_of(action)["unsnooze_job_id"]))


def names(env: MailEnvironment, place: MessagePlace) -> set[str]:
    """The names of the labels that the message carries."""
    return env.mailbox.state().label_names(place.message_id)


def wake(env: MailEnvironment) -> list[tuple[str, str]]:
    """Let time pass until nothing is snoozed."""
    return env.drain(only="actions.unsnooze")


def disconnect(env: MailEnvironment) -> None:
    with env.process.database.ledger() as tx:
        accounts.disconnect(tx, env.account.account_id, "left")


def due(env: MailEnvironment, job_id: UUID) -> str:
    """Let a job be due, and run it once."""
    env.database.execute("update jobs set run_at = now() where id = %s", (job_id,))
    return env.run(job_id)


def settle(env: MailEnvironment, **changes: str) -> None:
    with env.process.database.ledger() as tx:
        accounts.save_settings(tx, env.account.account_id, changes)


def test_a_snoozed_message_comes_back(env: MailEnvironment) -> None:
    place = stored_letter(env)
    began = env.process.clock()
    done = do(env, place, TWO_HOURS)
    assert done.state is ActionStatus.DONE, done.error
    assert names(env, place) == {"UNREAD", "Postroom/Snoozed"}
    kept, job = hint_of(done), wake_job(env, done)
    assert kept["snooze_label"] == "Postroom/Snoozed"
    assert {kept["snooze_label_id"], "UNREAD"} == labels(env, place)
    until = datetime.fromisoformat(kept["snooze_until"])
    assert timedelta(0) <= until - began - timedelta(hours=2) < timedelta(minutes=1)
    assert (job["job_type"], datetime.fromisoformat(job["run_at"])) == ("actions.unsnooze", until)
    assert job["payload"] == {
        "account_id": str(env.account.account_id),
        "message_id": place.message_id,
        "action_id": str(done.action_id),
        "snooze_label_id": kept["snooze_label_id"],
    }
    assert wake(env) == [("actions.unsnooze", "succeeded")]
    assert labels(env, place) == stored_labels(env, place) == {"INBOX", "UNREAD"}
    assert [job for job, _ in env.sync()] == ["gmail.sync"], "our own writes are no news"


def test_a_message_may_sleep_for_a_year(env: MailEnvironment) -> None:
    place = stored_letter(env)
    until = env.process.clock() + timedelta(days=365)
    done = do(env, place, Snooze(until=until))
    assert done.state is ActionStatus.DONE
    assert datetime.fromisoformat(wake_job(env, done)["run_at"]) == until
    guards = "select count(*) from idempotency_keys where job_id = %s and expires_at > %s"
    assert env.count(guards, hint_of(done)["unsnooze_job_id"], until) == 1, "the guard lives as long as its job"


@pytest.mark.parametrize(
    ("until", "field"),
    [(datetime(2020, 1, 1, tzinfo=UTC), "until"), (datetime(2090, 1, 1, tzinfo=UTC), "until")],
    ids=["past", "far"],
)
def test_a_snooze_that_is_no_use_is_refused_by_its_field(env: MailEnvironment, until: datetime, field: str) -> None:
    place = stored_letter(env)
    done = do(env, place, Snooze(until=until))
    assert done.state is ActionStatus.FAILED
    assert done.error is not None
    assert done.error["reason"].startswith(f"parameters.{field}: ")
    assert labels(env, place) == {"INBOX", "UNREAD"}
    assert env.count("select count(*) from jobs where job_type = 'actions.unsnooze'") == 0


def test_the_label_is_the_one_that_the_owner_names(env: MailEnvironment) -> None:
    settle(env, snooze_label="Later/Asleep")
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    assert names(env, place) == {"UNREAD", "Later/Asleep"}
    assert hint_of(done)["snooze_label"] == "Later/Asleep"
    settle(env, snooze_label="Elsewhere")
    wake(env)
    assert names(env, place) == {"UNREAD", "INBOX"}, "the label is the payload's, whatever the settings say now"


def test_without_a_label_in_the_payload_the_settings_name_it(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    payload = {"message_id": place.message_id, "action_id": str(done.action_id)}
    env.database.execute("delete from idempotency_keys where job_id = %s", (hint_of(done)["unsnooze_job_id"],))
    env.database.execute("delete from jobs where id = %s", (hint_of(done)["unsnooze_job_id"],))
    assert env.run(env.enqueue("actions.unsnooze", payload)) == "succeeded"
    assert names(env, place) == {"UNREAD", "INBOX"}


def test_what_was_deleted_need_not_come_back(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    env.mailbox.delete_message(place.message_id)
    assert wake(env) == [("actions.unsnooze", "succeeded")]
    assert wake_job(env, done)["output"] == {"restored": False, "why": "the message was deleted"}


def test_a_label_that_is_gone_is_no_obstacle(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    delete_label(env, hint_of(done)["snooze_label_id"])
    ends = wake(env)
    assert ends[-1] == ("actions.unsnooze", "succeeded")
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_a_label_that_its_person_took_off_is_no_obstacle(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    env.mailbox.label_message(place.message_id, remove=(hint_of(done)["snooze_label_id"],))
    wake(env)
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_waking_too_fast_is_tried_again(env: MailEnvironment) -> None:
    place = stored_letter(env)
    do(env, place, TWO_HOURS)
    env.fail("messages.modify", status=429)
    wake(env)
    env.database.execute("delete from gates")
    wake(env)
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_a_message_comes_back_though_the_snooze_failed_half_way(env: MailEnvironment) -> None:
    """The call has its effect and loses its answer, and Gmail is away for all attempts that follow."""
    place = stored_letter(env)
    env.fail("messages.modify", drop="after")
    env.fail("messages.get", status=503, skip=1, times=None)
    done = do(env, place, TWO_HOURS)
    assert done.state is ActionStatus.FAILED
    assert "INBOX" not in labels(env, place)
    env.gmail.clear_faults()
    wake(env)
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_a_message_comes_back_after_gmail_was_away_for_half_an_hour(env: MailEnvironment) -> None:
    """Nobody else would bring it back; the waits are the shortest that chance may choose."""
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    env.fail("messages.get", status=503, times=None)
    came_back = env.process.clock() + timedelta(hours=2, minutes=30)
    while datetime.fromisoformat(wake_job(env, done)["run_at"]) < came_back:
        waits = datetime.fromisoformat(wake_job(env, done)["run_at"]) - env.process.clock()
        pass_time(env.database, max(waits, timedelta(0)))
        came_back -= max(waits, timedelta(0))
        assert env.run(UUID(hint_of(done)["unsnooze_job_id"])) == "queued"
    env.gmail.clear_faults()
    assert wake(env) == [("actions.unsnooze", "succeeded")]
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_what_was_never_snoozed_is_not_brought_back(env: MailEnvironment) -> None:
    place = stored_letter(env)
    env.fail("messages.modify", status=503, times=5)
    done = do(env, place, TWO_HOURS)
    assert done.state is ActionStatus.FAILED
    env.gmail.clear_faults()
    env.mailbox.archive(place.thread_id)
    wake(env)
    assert labels(env, place) == {"UNREAD"}, "its person has archived it since"


def test_the_later_snooze_counts(env: MailEnvironment) -> None:
    place = stored_letter(env)
    first = do(env, place, TWO_HOURS)
    second = do(env, place, Snooze(amount=3, units="days"))
    assert env.run(UUID(hint_of(first)["unsnooze_job_id"])) == "not_claimed", "it is not due"
    env.database.execute("update jobs set run_at = now() where id = %s", (hint_of(first)["unsnooze_job_id"],))
    assert env.run(UUID(hint_of(first)["unsnooze_job_id"])) == "succeeded"
    assert "INBOX" not in labels(env, place)
    assert "snoozed again" in wake_job(env, first)["output"]["why"]
    wake(env)
    assert labels(env, place) == {"INBOX", "UNREAD"}
    assert wake_job(env, second)["output"] == {"restored": True}


def undone_output(env: MailEnvironment, place: MessagePlace, action: StoredAction) -> str:
    """Undo a snooze; what became of the job that would have woken the message."""
    job_id = undo(env, action.action_id)
    assert env.job(job_id)["state"] == "succeeded", env.job(job_id)["error"]
    assert labels(env, place) == {"INBOX", "UNREAD"}
    assert look(env, action.action_id).state is ActionStatus.UNDONE
    return str(env.job(job_id)["output"]["unsnooze"])


def test_a_message_that_was_due_by_an_earlier_snooze_comes_back_when_the_later_one_is_undone(
    env: MailEnvironment,
) -> None:
    """The earlier one's job has left it to the later one, whose job the undo cancels."""
    place = stored_letter(env)
    first = do(env, place, Snooze(amount=1, units="hours"))
    later = do(env, place, Snooze(amount=5, units="hours"))
    pass_time(env.database, timedelta(hours=2))
    # Times in documents are not moved with the others.
    env.database.execute(
        "update actions set undo_hint = undo_hint || jsonb_build_object('snooze_until', now() - interval '1 hour')"
        " where id = %s",
        (first.action_id,),
    )
    (early,) = (
        env.database.execute("select id from jobs where state = 'queued' order by run_at limit 1").fetchone() or ()
    )
    assert env.run(early) == "succeeded"
    assert env.job(early)["output"]["restored"] is False
    assert env.job(undo(env, later.action_id))["output"]["unsnooze"] == "canceled"
    assert labels(env, place) == stored_labels(env, place) == {"INBOX", "UNREAD"}


def test_undoing_the_later_snooze_in_time_leaves_the_earlier_one(env: MailEnvironment) -> None:
    place = stored_letter(env)
    first = do(env, place, Snooze(amount=1, units="hours"))
    undo(env, do(env, place, Snooze(amount=5, units="hours")).action_id)
    assert labels(env, place) == {hint_of(first)["snooze_label_id"], "UNREAD"}
    assert ("actions.unsnooze", "succeeded") in wake(env)
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_undoing_the_earlier_snooze_leaves_the_message_to_the_later_one(env: MailEnvironment) -> None:
    place = stored_letter(env)
    first = do(env, place, Snooze(amount=1, units="hours"))
    later = do(env, place, Snooze(amount=5, units="hours"))
    asleep = labels(env, place)
    job_id = undo(env, first.action_id)
    output = env.job(job_id)["output"]
    until = datetime.fromisoformat(hint_of(later)["snooze_until"]).isoformat()
    assert (output["changed"], output["why"]) == (False, f"a later snooze keeps the message until {until}")
    assert labels(env, place) == stored_labels(env, place) == asleep
    assert look(env, first.action_id).state is ActionStatus.UNDONE
    assert wake_job(env, first)["state"] == "canceled"
    assert wake(env) == [("actions.unsnooze", "succeeded")]
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_a_message_that_a_later_snooze_has_brought_back_is_not_brought_back_twice(env: MailEnvironment) -> None:
    place = stored_letter(env)
    first = do(env, place, Snooze(amount=5, units="hours"))
    later = do(env, place, Snooze(amount=1, units="hours"))
    assert due(env, UUID(hint_of(later)["unsnooze_job_id"])) == "succeeded"
    assert labels(env, place) == {"INBOX", "UNREAD"}
    env.mailbox.archive(place.thread_id)
    assert due(env, UUID(hint_of(first)["unsnooze_job_id"])) == "succeeded"
    assert labels(env, place) == {"UNREAD"}, "its person has archived it since"


def test_a_wake_is_for_the_message_and_the_label_of_its_snooze(env: MailEnvironment) -> None:
    place, other = stored_letter(env), stored_letter(env, "Other")
    snoozed, archived = do(env, place, TWO_HOURS), do(env, other, Archive())
    env.mailbox.label_message(other.message_id, add=("STARRED",))
    env.mailbox.label_message(place.message_id, add=("STARRED",))
    env.database.execute("delete from jobs where state = 'queued'")
    env.database.execute("delete from idempotency_keys where kind = 'job'")
    here = {"message_id": place.message_id, "action_id": str(snoozed.action_id)}
    for changed, field in (
        ({"message_id": other.message_id}, "message_id"),
        ({"snooze_label_id": "STARRED"}, "snooze_label_id"),
        ({"message_id": other.message_id, "action_id": str(archived.action_id)}, "action_id"),
    ):
        job_id = env.enqueue("actions.unsnooze", here | changed)
        assert env.run(job_id) == "dead"
        assert env.job(job_id)["error"]["reason"].startswith(f"{field}: ")
        env.database.execute("delete from idempotency_keys where kind = 'job'")
    assert labels(env, other) == {"UNREAD", "STARRED"}
    assert {"STARRED"} < labels(env, place)


def test_undo_cancels_the_job_that_would_wake_the_message(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    assert undone_output(env, place, done) == "canceled"
    job = wake_job(env, done)
    assert (job["state"], job["cancel_reason"]) == ("canceled", "the snooze was undone")
    assert wake(env) == []


def test_undo_goes_on_when_the_message_is_awake_already(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    wake(env)
    assert undone_output(env, place, done) == "ran"


def test_undo_goes_on_when_the_job_is_past_its_retention(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    job_id = hint_of(done)["unsnooze_job_id"]
    env.database.execute("delete from idempotency_keys where job_id = %s", (job_id,))
    env.database.execute("delete from jobs where id = %s", (job_id,))
    assert undone_output(env, place, done) == "gone"


def test_undo_goes_on_when_the_job_was_canceled_by_an_operator(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [UUID(hint_of(done)["unsnooze_job_id"])], "enough", by=Origin())
    assert undone_output(env, place, done) == "ran"


def test_a_message_that_is_still_being_snoozed_waits(env: MailEnvironment) -> None:
    place = stored_letter(env)
    made = ask(env, place, TWO_HOURS)
    env.database.execute("update actions set state = 'executing', started_at = now() where id = %s", (made,))
    job_id = env.enqueue("actions.unsnooze", {"message_id": place.message_id, "action_id": str(made)})
    assert env.run(job_id) == "queued"
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_no_cancellation_of_what_led_to_a_snooze_leaves_a_message_asleep(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    # As when a sync or a backfill that is still at work is canceled, below which a message was snoozed.
    began = env.enqueue("gmail.sync")
    env.database.execute("update jobs set parent_id = %s where id = %s", (began, done.job_id))
    canceled = cancellations.cancel(env.process.database, [began], "enough", by=Origin())
    assert canceled.asked == {began: "canceled"}
    assert canceled.descendants == {}
    assert wake(env) == [("actions.unsnooze", "succeeded")]
    assert names(env, place) == {"INBOX", "UNREAD"}


def test_a_message_whose_account_was_disconnected_comes_back_with_it(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    job_id = UUID(hint_of(done)["unsnooze_job_id"])
    know_owner(env)
    consent = test_account_ends.disconnect(env)
    assert due(env, job_id) == "queued"
    other = replace(consent, subject="118")
    with env.process.database.ledger() as tx:
        accounts.disconnect(tx, connect(env, other).account_id, "left")
    assert due(env, job_id) == "queued", "it is nothing of another Google user's"
    connect(env, consent)
    assert due(env, job_id) == "succeeded"
    assert names(env, place) == {"INBOX", "UNREAD"}


def test_nobody_waits_longer_than_a_month_for_an_account(env: MailEnvironment) -> None:
    done = do(env, stored_letter(env), TWO_HOURS)
    disconnect(env)
    env.database.execute(
        'update actions set undo_hint = undo_hint || \'{"snooze_until": "2020-01-01T00:00:00Z"}\' where id = %s',
        (done.action_id,),
    )
    assert due(env, UUID(hint_of(done)["unsnooze_job_id"])) == "canceled"

"""Snoozes and their undos in any order: a message sleeps as long as its last snooze that was not undone says."""

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.mail.actions.snooze import Snooze
from domain.mail.actions.status import ActionStatus
from sandbox.emulator.control import MessagePlace
from storage.mail.actions.actions import StoredAction
from tasks.mail.steps.mailbox_change import MailboxChange
from tests.doubles.factories import pass_time
from tests.doubles.mail_actions import do, labels, look, stored_labels, stored_letter, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import once_after
from tests.tasks.mail.accounts.test_account_ends import connect, disconnect, know_owner
from tests.tasks.mail.actions.test_snoozing import TWO_HOURS, due, hint_of, wake

Step = tuple[str, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("snooze"), st.integers(1, 6)),
        st.tuples(st.just("undo"), st.integers(0, 3)),
        st.tuples(st.just("hours"), st.integers(1, 3)),
    ),
    min_size=3,
    max_size=8,
)


@dataclass
class Sleep:
    """What should be so: of each snooze the hour at which it ends, in the order they were asked for."""

    now: float = 0.0
    until: list[float] = field(default_factory=list)
    undone: set[int] = field(default_factory=set)

    @property
    def asleep(self) -> bool:
        left = [until for place, until in enumerate(self.until) if place not in self.undone]
        return bool(left) and self.now < left[-1]


def pass_hours(env: MailEnvironment, hours: float) -> None:
    """Let time pass from one due wake to the next, and run each at its time."""
    left = timedelta(hours=hours)
    while True:
        row = env.database.execute(
            "select id, run_at - now() from jobs where job_type = 'actions.unsnooze' and state = 'queued'"
            " order by run_at, id limit 1"
        ).fetchone()
        step = left if row is None else min(left, max(row[1], timedelta(0)))
        pass_time(env.database, step)
        env.database.execute(
            "update actions set undo_hint = undo_hint || jsonb_build_object('snooze_until',"
            " (undo_hint ->> 'snooze_until')::timestamptz - %s) where undo_hint ? 'snooze_until'",
            (step,),
        )
        left -= step
        if row is None or row[1] > step:
            return
        assert env.run(row[0]) == "succeeded"


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS)
def test_a_message_sleeps_as_long_as_its_last_snooze_says(env: MailEnvironment, steps: list[Step]) -> None:
    with redis.Redis.from_url(env.process.settings.counting_url or "") as counted:
        counted.flushdb()  # so many calls in a minute are more than Gmail allows
    place: MessagePlace = stored_letter(env)
    model, made = Sleep(), list[StoredAction]()
    for what, amount in [*steps, ("hours", 7)]:
        if what == "snooze":
            made.append(do(env, place, Snooze(amount=amount, units="hours")))
            assert made[-1].state is ActionStatus.DONE, made[-1].error
            model.until.append(model.now + amount)
        elif what == "hours":
            # Half an hour more, so that no time is the same as another.
            pass_hours(env, amount + 0.01)
            model.now += amount + 0.01
        elif amount < len(made) and amount not in model.undone:
            job_id: UUID = undo(env, made[amount].action_id)
            assert env.job(job_id)["state"] == "succeeded", env.job(job_id)["error"]
            assert look(env, made[amount].action_id).state is ActionStatus.UNDONE
            model.undone.add(amount)
        assert ("INBOX" not in labels(env, place)) is model.asleep, (steps, what, amount, model, labels(env, place))
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_a_message_that_falls_due_while_the_later_snooze_is_undone_comes_back(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier one's job leaves the message to the later one, which the undo is about to end."""
    place = stored_letter(env)
    first = do(env, place, Snooze(amount=1, units="hours"))
    later = do(env, place, Snooze(amount=5, units="hours"))

    def wake_first() -> None:
        falls_due(env, first)
        assert due(env, UUID(hint_of(first)["unsnooze_job_id"])) == "succeeded"

    once_after(monkeypatch, MailboxChange, "apply", wake_first)
    job_id = undo(env, later.action_id)
    assert env.job(job_id)["state"] == "succeeded"
    wake(env)
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_undoing_both_snoozes_brings_the_message_back(env: MailEnvironment) -> None:
    """The labels from before the later one were the earlier one's, which holds no more."""
    place = stored_letter(env)
    first = do(env, place, Snooze(amount=1, units="hours"))
    later = do(env, place, Snooze(amount=5, units="hours"))
    undo(env, first.action_id)
    undo(env, later.action_id)
    assert labels(env, place) == stored_labels(env, place) == {"INBOX", "UNREAD"}


def falls_due(env: MailEnvironment, action: StoredAction) -> None:
    """Let the time of a snooze be over; times in documents are not moved with the others."""
    env.database.execute(
        "update actions set undo_hint = undo_hint || jsonb_build_object('snooze_until', now() - interval '1 second')"
        " where id = %s",
        (action.action_id,),
    )


def test_a_message_that_falls_due_while_it_is_snoozed_again_stays_away(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = stored_letter(env)
    first = do(env, place, Snooze(amount=1, units="hours"))
    wake_job, ends = UUID(hint_of(first)["unsnooze_job_id"]), list[str]()
    once_after(monkeypatch, MailboxChange, "apply", lambda: ends.append(due(env, wake_job)))
    later = do(env, place, Snooze(amount=5, units="hours"))
    assert later.state is ActionStatus.DONE
    assert ends == ["queued"], "it waits until the later snooze has ended"
    assert "INBOX" not in labels(env, place)
    assert due(env, wake_job) == "succeeded"
    assert "INBOX" not in labels(env, place)
    wake(env)
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_an_undo_waits_for_nobody_who_moves_the_waking_job(env: MailEnvironment) -> None:
    """It would do so with its own job in hand, for which the other may wait."""
    place = stored_letter(env)
    snoozed = do(env, place, Snooze(amount=5, units="hours"))
    job_id = env.enqueue("actions.undo", {"original_action_id": str(snoozed.action_id)})
    with env.process.database.ledger() as tx:
        tx.raw("select from jobs where id = %(id)s for update", {"id": hint_of(snoozed)["unsnooze_job_id"]})
        assert env.run(job_id) == "queued"
    assert (env.job(job_id)["attempt"], env.job(job_id)["free_returns"]) == (0, 1)
    env.drain(only="actions.undo")
    assert env.job(job_id)["output"]["unsnooze"] == "canceled"
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_a_snooze_of_the_next_connection_is_not_ended_by_the_earlier_ones_job(env: MailEnvironment) -> None:
    know_owner(env)
    place = stored_letter(env)
    first = do(env, place, TWO_HOURS)
    env.account = connect(env, disconnect(env))
    env.mailbox.label_message(place.message_id, add=("INBOX",), remove=(hint_of(first)["snooze_label_id"],))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    second = do(env, place, Snooze(amount=5, units="hours"))
    assert due(env, UUID(hint_of(first)["unsnooze_job_id"])) == "succeeded"
    assert "INBOX" not in labels(env, place)
    pass_time(env.database, timedelta(hours=5))
    assert due(env, UUID(hint_of(second)["unsnooze_job_id"])) == "succeeded"
    assert "INBOX" in labels(env, place)

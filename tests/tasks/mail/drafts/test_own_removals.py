"""An order by hand whose label our own jobs take off is carried out, however long its job waits."""

from collections.abc import Callable

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from storage.mail.accounts import expected_writes
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.drafts.reworks import draft_id, labels_of
from tests.tasks.mail.drafts.test_orders_by_hand import answers, discarded, drafts, old, put
from tests.tasks.mail.drafts.test_withdrawn_orders import see, withdraw


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_label_that_we_took_off_ourselves_is_no_order_that_was_withdrawn(
    env: MailEnvironment, *, by_hand: bool
) -> None:
    """A draft is thrown away and another ordered in the same breath: `threads.cleanup` clears the thread's labels."""
    place = discarded(env)
    put(env, place)
    env.sync()
    env.database.execute("update emails set by_hand_at = null where not %s", (by_hand,))
    env.mailbox.discard_draft(draft_id(env, place))
    put(env, place)
    see(env, "threads.%")
    assert labels_of(env, place) == set()
    env.drain()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def pass_hours(env: MailEnvironment, hours: int) -> None:
    """Let the job of an order wait, as in a queue that is paused, and what is over be deleted."""
    for table, columns in {
        "expected_writes": ("created_at", "expires_at"),
        "accounts": ("created_at",),
        "emails": ("state_changed_at", "by_hand_at", "drafted_at"),
        "jobs": ("created_at",),
    }.items():
        for column in columns:
            env.database.execute(f"update {table} set {column} = {column} - make_interval(hours => %s)", (hours,))
    with env.process.database.ledger() as tx:
        expected_writes.RETENTION.forget(tx)


def test_an_order_is_carried_out_although_we_took_its_label_off_before_its_sync_saw_it(env: MailEnvironment) -> None:
    place = discarded(env)
    env.database.execute("update expected_writes set created_at = created_at - interval '2 minutes'")
    put(env, place)
    env.sync()
    env.mailbox.discard_draft(draft_id(env, place))
    put(env, place)
    see(env, "threads.%")
    env.database.execute(
        "update expected_writes set created_at = (select max(created_at) - interval '20 seconds' from jobs"
        " where job_type = 'drafts.write_manual') where change = 'labels_removed'"
    )
    env.drain()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


@pytest.mark.parametrize("hours", [2, 24, 8 * 24])
def test_an_order_that_waits_is_carried_out_although_we_took_its_label_off(env: MailEnvironment, hours: int) -> None:
    place = discarded(env)
    put(env, place)
    env.sync()
    env.mailbox.discard_draft(draft_id(env, place))
    put(env, place)
    see(env, "threads.%")
    assert labels_of(env, place) == set()
    pass_hours(env, hours)
    env.drain()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


@pytest.mark.parametrize(("case", "hours"), [(discarded, 24), (old, 24), (old, 8 * 24)])
def test_one_that_waits_and_is_taken_back_is_not_carried_out(
    env: MailEnvironment, case: Callable[[MailEnvironment], MessagePlace], hours: int
) -> None:
    """A thread without a record has no label that we took off, however long ago."""
    place = case(env)
    pass_hours(env, 2)
    put(env, place)
    see(env)
    pass_hours(env, hours)
    withdraw(env, place)
    paid = answers(env)
    env.drain()
    assert (drafts(env), answers(env) - paid) == (0, 0)

"""Lifecycle: which job moves an e-mail from which state to which (docs: seeds.md#000-lifecycle)."""

from collections.abc import Callable

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.drafts.reworks import draft_id, drafted, labels_of, put_rework, rework, rework_job

Given = Callable[[MailEnvironment], MessagePlace]


def states(env: MailEnvironment) -> None:
    """Write down every state that the record takes from now on."""
    env.database.execute(
        """
        create table taken_states (place bigint generated always as identity, state text);
        create function write_state() returns trigger language plpgsql security definer set search_path = public as
          $$ begin insert into taken_states (state) values (new.state); return new; end $$;
        create trigger state_taken after update of state on emails for each row
          when (old.state is distinct from new.state) execute function write_state();
        """
    )


def taken(env: MailEnvironment) -> list[str]:
    return [row[0] for row in env.database.execute("select state from taken_states order by place").fetchall()]


def test_the_whole_life(env: MailEnvironment) -> None:
    """000-91, 000-92: drafted, rework_requested, drafted, sent."""
    place = drafted(env)
    states(env)
    rework(env, place)
    env.mailbox.send_draft(draft_id(env, place))
    env.sync()
    assert taken(env) == ["rework_requested", "drafted", "sent"]


def pending(env: MailEnvironment) -> MessagePlace:
    env.sync()
    place = env.deliver("Lunch?", "Could you tell me whether noon suits you? Please reply.")
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    return place


def being_reworked(env: MailEnvironment) -> MessagePlace:
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    env.fail("drafts.update", drop="before")
    assert env.run(job_id) == "queued"
    return place


def sent(env: MailEnvironment) -> MessagePlace:
    place = drafted(env)
    env.mailbox.send_draft(draft_id(env, place))
    env.sync()
    return place


def skipped(env: MailEnvironment) -> MessagePlace:
    place = drafted(env)
    env.mailbox.discard_draft(draft_id(env, place))
    env.sync()
    return place


ANY: dict[EmailState, Given] = {
    EmailState.PENDING: pending,
    EmailState.DRAFTED: drafted,
    EmailState.REWORK_REQUESTED: being_reworked,
    EmailState.SENT: sent,
    EmailState.SKIPPED: skipped,
}


@pytest.mark.parametrize("state", ANY)
def test_done_archives_whatever_the_state(env: MailEnvironment, state: EmailState) -> None:
    """000-94: any -> archived; no job that comes later undoes it, and no machine draft stays."""
    place = ANY[state](env)
    assert env.state(place.thread_id) is state
    env.enqueue("cleanup", {"thread_id": place.thread_id, "action": "done"})
    env.drain(only="threads.%")
    env.drain()
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert (labels_of(env, place), env.mailbox.state().drafts) == (set(), [])


def test_a_rework_too_many_skips(env: MailEnvironment) -> None:
    """000-95: any -> skipped, by the rework limit."""
    place = drafted(env)
    env.database.execute("update emails set rework_count = 3")
    put_rework(env, place)
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_a_class_that_needs_no_response_skips(env: MailEnvironment) -> None:
    """000-95: any -> skipped, by the classification."""
    env.sync()
    place = env.deliver("Note", "For your information only.")
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED

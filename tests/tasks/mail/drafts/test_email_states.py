"""Which job moves an e-mail from which state to which."""

from collections.abc import Callable

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.triggers import note_states, taken_states
from tests.tasks.mail.drafts.reworks import draft_id, drafted, labels_of, put_rework, rework, rework_job

Given = Callable[[MailEnvironment], MessagePlace]


def test_the_whole_life(env: MailEnvironment) -> None:
    """Drafted, rework_requested, drafted, sent."""
    place = drafted(env)
    note_states(env.database, "emails")
    rework(env, place)
    env.mailbox.send_draft(draft_id(env, place))
    env.sync()
    assert taken_states(env.database) == ["rework_requested", "drafted", "sent"]


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
    """No job that comes later undoes it, and no machine draft stays."""
    place = ANY[state](env)
    assert env.state(place.thread_id) is state
    env.enqueue("cleanup", {"thread_id": place.thread_id, "action": "done"})
    env.drain(only="threads.%")
    env.drain()
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert (labels_of(env, place), env.mailbox.state().drafts) == (set(), [])

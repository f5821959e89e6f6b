"""No draft is left behind: an attempt that failed around its draft is made good, whatever its person did meanwhile."""

from collections.abc import Callable
from uuid import UUID

import pytest

from domain.mail.correspondence import EmailState
from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import once_after
from tests.tasks.mail.drafts.test_drafts import MORE, ask, made

LOST = [{"drop": "after"}, {"status": 503, "after_execution": True}]

Acts = Callable[[MailEnvironment, MessagePlace], None]


def is_done(env: MailEnvironment, place: MessagePlace) -> None:
    """The person puts Done on the thread, and the ledger takes it in."""
    env.mailbox.label_thread(place.thread_id, add=(env.label("Done"),))
    sync_mail(env)


def answers(env: MailEnvironment, place: MessagePlace) -> None:
    """The person answers without the draft, and the ledger takes it in."""
    env.deliver("Re: Lunch?", "Noon is fine.", thread_id=place.thread_id, label_ids=("SENT",))
    sync_mail(env)


def sync_mail(env: MailEnvironment) -> None:
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%", "threads.%"):
        env.drain(only=family)


def write_job(env: MailEnvironment) -> UUID:
    row = env.database.execute("select id from jobs where job_type = 'drafts.write' and state = 'queued'").fetchone()
    assert row is not None
    return UUID(str(row[0]))


def open_effects(env: MailEnvironment) -> int:
    return env.count("select count(*) from idempotency_keys where kind = 'effect' and status in ('running', 'unknown')")


@pytest.mark.parametrize("order", LOST, ids=["dropped", "503"])
@pytest.mark.parametrize(
    ("person", "state", "drafts"), [(is_done, EmailState.ARCHIVED, 0), (answers, EmailState.DRAFTED, 1)]
)
def test_a_draft_whose_answer_was_lost_is_no_orphan(
    env: MailEnvironment, order: dict[str, object], person: Acts, state: EmailState, drafts: int
) -> None:
    """Done takes the draft back; an answer of her own leaves it, as it leaves a recorded one."""
    place = ask(env)
    env.label("Done")
    env.fail("drafts.create", **order)
    assert env.run(write_job(env)) == "queued"
    person(env, place)
    assert env.drain() == [("drafts.write", "succeeded")]
    assert made(env) == 1
    assert len(env.mailbox.state().drafts) == drafts
    assert env.state(place.thread_id) is state
    assert open_effects(env) == 0
    env.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    env.sync()
    (draft,) = env.mailbox.state().drafts
    assert env.email(place.thread_id).draft_id == draft["draft_id"]
    assert env.state(place.thread_id) is EmailState.DRAFTED


@pytest.mark.parametrize(("person", "state"), [(is_done, EmailState.ARCHIVED), (answers, EmailState.SKIPPED)])
def test_a_draft_that_was_never_made_is_not_made_after_its_person_acted(
    env: MailEnvironment, person: Acts, state: EmailState
) -> None:
    place = ask(env)
    env.label("Done")
    env.fail("drafts.create", drop="before")
    assert env.run(write_job(env)) == "queued"
    person(env, place)
    # It could still come for as long as the first call may last.
    assert env.drain() == [("drafts.write", "queued"), ("drafts.write", "succeeded")]
    assert made(env) == 0
    assert env.state(place.thread_id) is state
    assert open_effects(env) == 0
    assert env.email(place.thread_id).draft_token is None


def test_a_question_before_the_retry_gets_no_draft_beside_the_orphan(env: MailEnvironment) -> None:
    place = ask(env)
    env.label("Done")
    env.fail("drafts.create", drop="after")
    assert env.run(write_job(env)) == "queued"
    is_done(env, place)
    env.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain(only="triage.%")
    assert env.state(place.thread_id) is EmailState.PENDING
    env.drain()
    (draft,) = env.mailbox.state().drafts
    assert made(env) == 1
    assert env.email(place.thread_id).draft_id == draft["draft_id"]


def test_a_sent_draft_whose_answer_was_lost_leaves_a_settled_record_alone(env: MailEnvironment) -> None:
    place = ask(env)
    env.label("Done")
    env.fail("drafts.create", drop="after")
    assert env.run(write_job(env)) == "queued"
    env.mailbox.send_draft(env.mailbox.state().drafts[0]["draft_id"])
    is_done(env, place)
    env.drain()
    assert made(env) == 1
    assert open_effects(env) == 0
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    env.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    env.sync()
    assert made(env) == len(env.mailbox.state().drafts) + 1 == 2


@pytest.mark.parametrize("operation", ["drafts.get", "messages.get", "drafts.delete"])
def test_a_discard_that_failed_is_made_good(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """The person is done while the draft is made, and the first try to take it back meets a 503."""
    place = ask(env)
    env.label("Done")

    def finish() -> None:
        is_done(env, place)
        env.fail(operation, status=503)

    once_after(monkeypatch, GmailMailbox, "create_draft", finish)
    ends = env.drain()
    assert ends == [("drafts.write", "queued"), ("drafts.write", "succeeded")]
    assert made(env) == 1
    assert env.mailbox.state().drafts == []
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert env.email(place.thread_id).draft_id is None

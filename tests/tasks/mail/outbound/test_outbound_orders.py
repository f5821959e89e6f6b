"""Orders of `outbound.send` beside the action's own: other files than were approved, and orders made in advance."""

import base64

import pytest

from domain.mail.actions.action import Action
from domain.mail.actions.status import ActionStatus
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import (
    ANSWER,
    FILES,
    FORWARD,
    action_of,
    approve,
    approved,
    letter_with_files,
    order,
    taken_in,
    the_sent,
    times_sent,
    waiting,
)


def file(name: str = "offer.pdf", data: bytes = b"%PDF", content_type: str = "application/pdf") -> dict[str, str]:
    return {"filename": name, "content_type": content_type, "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize("action", [ANSWER, FORWARD], ids=["auto_reply", "forward"])
def test_the_files_that_were_approved_leave_with_the_mail(env: MailEnvironment, action: Action) -> None:
    place = taken_in(env, raw=letter_with_files())
    action_id = approved(env, place.message_id, action, file(), file("b.txt", b"two", "text/plain"))
    named = action_of(env, action_id).parameters["attachments"]
    assert [(one["filename"], one["size"]) for one in named] == [("offer.pdf", 4), ("b.txt", 3)]
    env.enqueue("actions.execute", {"action_id": str(action_id)})
    assert env.drain() == [("actions.execute", "succeeded"), ("outbound.send", "succeeded")]
    sent = [(one.get_filename(), one.get_payload(decode=True)) for one in the_sent(env)[1].iter_attachments()]
    of_original = [(name, data) for name, _, data in FILES] if action is FORWARD else []
    assert sent == [("offer.pdf", b"%PDF"), ("b.txt", b"two"), *of_original]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ([file(), file("more.pdf")], "payload.attachments.1: is no file of the action"),
        ([file(data=b"%PDF other")], "payload.attachments.0: is no file of the action"),
        ([file("other.pdf")], "payload.attachments.0: is no file of the action"),
        ([file(content_type="text/html")], "payload.attachments.0: is no file of the action"),
        ([file(), file()], "payload.attachments.1: is no file of the action"),
        ([], "payload.attachments: lack files of the action: offer.pdf"),
    ],
    ids=["one more", "other content", "other name", "other type", "twice", "one less"],
)
def test_no_other_files_leave_than_those_that_were_approved(
    env: MailEnvironment, given: list[dict[str, str]], field: str
) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id, ANSWER, file())
    job_id = order(env, place, action_id, attachments=given)
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    assert env.job(job_id)["error"]["reason"].startswith(field)
    assert (times_sent(env), env.mailbox.state().drafts) == (0, [])
    assert action_of(env, action_id).state is ActionStatus.APPROVED


def test_nobody_adds_files_to_an_action_without_any(env: MailEnvironment) -> None:
    place = taken_in(env)
    job_id = order(env, place, approved(env, place.message_id), attachments=[file()])
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    assert env.job(job_id)["error"]["reason"].startswith("payload.attachments.0: ")
    assert times_sent(env) == 0


def test_nobody_puts_an_approved_mail_into_another_conversation(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    job_id = order(env, place, action_id, references=["<another@example.org>"])
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    said = "payload.references.0: is no message of the original's conversation"
    assert env.job(job_id)["error"]["reason"].startswith(said)
    assert times_sent(env) == 0
    assert action_of(env, action_id).state is ActionStatus.APPROVED


def test_an_order_before_the_approval_is_refused_and_the_action_is_executed_all_the_same(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = waiting(env, place.message_id)
    early = order(env, place, action_id)
    assert env.drain(only="outbound.%") == [("outbound.send", "failed")]
    assert env.job(early)["error"]["reason"].startswith("action_id: ")
    approve(env, action_id)
    env.enqueue("actions.execute", {"action_id": str(action_id)})
    assert env.drain() == [("actions.execute", "succeeded"), ("outbound.send", "succeeded")]
    action = action_of(env, action_id)
    assert (action.state, times_sent(env)) == (ActionStatus.DONE, 1)
    assert action.job_id != early


def test_an_order_that_waits_while_the_action_is_executed_sends_nothing_more(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    env.enqueue("actions.execute", {"action_id": str(action_id)})
    order(env, place, action_id)
    assert env.drain(only="actions.execute") == [("actions.execute", "succeeded")]
    assert {how for _, how in env.drain(only="outbound.%")} == {"failed", "succeeded"}
    assert (action_of(env, action_id).state, times_sent(env)) == (ActionStatus.DONE, 1)


def test_an_action_whose_order_was_first_is_left_to_it(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    first = order(env, place, action_id)
    assert env.drain() == [("outbound.send", "succeeded")]
    job_id = env.enqueue("actions.execute", {"action_id": str(action_id)})
    assert env.drain() == [("actions.execute", "succeeded")]
    assert env.job(job_id)["output"] == {"action": "auto_reply", "sent_by": str(first)}
    assert times_sent(env) == 1

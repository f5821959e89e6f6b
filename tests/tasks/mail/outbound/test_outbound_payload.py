"""A whole payload of `outbound.send`, as a service writes it, and how it is refused."""

import base64
from typing import Any
from uuid import UUID, uuid4

import pytest

from domain.mail.actions.requested_action import AutoReply, Forward
from domain.mail.actions.status import ActionStatus
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import action_of, approved, taken_in, text_of, the_sent, times_sent

ANSWER = AutoReply(text="Plain text body")
FORWARD = Forward(to=("boss@example.net",), note="Plain text body")
ASKED = {
    "Message-ID": "<asked@example.com>",
    "References": "<message-id@domain.example>",
    "Reply-To": "anna@example.com, cc@example.com",
}
"""Both are answered: an answer reaches nobody else, and stays in the conversation."""
FILE = {
    "filename": "document.pdf",
    "mime_type": "application/pdf",
    "data": base64.b64encode(b"%PDF").decode(),
}
"""The action names it: what nobody approved does not leave."""


def whole_payload(env: MailEnvironment, place: MessagePlace, action_id: UUID, kind: str) -> dict[str, Any]:
    """All fields; `original_message_id` is Gmail's id, as everywhere in Postroom."""
    return {
        "account_id": str(env.account.account_id),
        "action_id": str(action_id),
        "message_type": kind,
        "to": ["anna@example.com" if kind == "reply" else "boss@example.net"],
        "cc": ["cc@example.com"] if kind == "reply" else [],
        "subject": "Re: Lunch?" if kind == "reply" else "Fwd: Lunch?",
        "body_plain": "Plain text body",
        "body_html": "<p>Plain <b>text</b> body</p>",
        "original_message_id": place.message_id,
        "thread_id": place.thread_id,
        "references": ["<message-id@domain.example>"],
        "attachments": [FILE],
    }


@pytest.mark.parametrize("kind", ["reply", "forward"])
def test_a_whole_payload_is_sent_and_the_action_is_completed(env: MailEnvironment, kind: str) -> None:
    place = taken_in(env, headers=ASKED)
    action_id = approved(env, place.message_id, ANSWER if kind == "reply" else FORWARD, FILE)
    env.enqueue("outbound.send", whole_payload(env, place, action_id, kind))
    assert env.drain() == [("outbound.send", "succeeded")]
    facts, mail = the_sent(env)
    assert (facts["thread_id"] == place.thread_id) is (kind == "reply")
    if kind == "reply":
        assert mail["In-Reply-To"] == "<asked@example.com>"
        assert mail["References"].split()[0] == "<message-id@domain.example>"
        assert mail["Cc"] == "cc@example.com"
    else:
        assert (mail["In-Reply-To"], mail["References"]) == (None, None)
    assert text_of(mail).startswith("Plain text body\n")
    assert text_of(mail, "html").startswith("<p>Plain <b>text</b> body</p>")
    (part,) = mail.iter_attachments()
    assert (part.get_filename(), part.get_content_type(), part.get_payload(decode=True)) == (
        "document.pdf", "application/pdf", b"%PDF",
    )  # fmt: skip
    action = action_of(env, action_id)
    assert action.state is ActionStatus.DONE
    hint = action.undo_hint or {}
    assert {name: hint[name] for name in ("action", "inverse_action", "irreversible", "sent_message_id")} == {
        "action": "auto_reply" if kind == "reply" else "forward",
        "inverse_action": "none",
        "irreversible": True,
        "sent_message_id": facts["message_id"],
    }


def test_on_failure_the_action_is_failed_with_the_error(env: MailEnvironment) -> None:
    place = taken_in(env, headers=ASKED)
    action_id = approved(env, place.message_id, ANSWER, FILE)
    env.fail("drafts.send", status=400, reason="invalidArgument", message="Invalid To header")
    env.enqueue("outbound.send", whole_payload(env, place, action_id, "reply"))
    assert env.drain() == [("outbound.send", "failed")]
    action = action_of(env, action_id)
    assert action.state is ActionStatus.FAILED
    assert (action.error or {})["code"] == "gmail.invalidArgument"


@pytest.mark.parametrize(
    "changed",
    [
        {"action_id": str(uuid4())},
        {"original_message_id": "18c2f0a1b2c3d4e6"},
        {"account_id": str(uuid4())},
    ],
    ids=["no action", "no message", "no account"],
)
def test_what_is_missing_or_another_s_is_fatal(env: MailEnvironment, changed: dict[str, str]) -> None:
    place = taken_in(env, headers=ASKED)
    document = whole_payload(env, place, approved(env, place.message_id, ANSWER, FILE), "reply")
    job_id = env.enqueue("outbound.send", document | changed)
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    (field,) = changed
    assert env.job(job_id)["error"]["reason"].startswith(f"payload.{field}: ")
    assert times_sent(env) == 0


def test_the_key_is_the_account_s_action(env: MailEnvironment) -> None:
    """Another payload of the same action is no second job, also when the first has ended."""
    place = taken_in(env, headers=ASKED)
    document = whole_payload(env, place, approved(env, place.message_id, ANSWER, FILE), "reply")
    first = env.enqueue("outbound.send", document)
    assert env.enqueue("outbound.send", document | {"body_plain": "Other words"}) == first
    env.drain()
    assert env.enqueue("outbound.send", document) == first
    assert times_sent(env) == 1

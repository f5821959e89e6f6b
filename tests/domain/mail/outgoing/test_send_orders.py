"""The order that carries out a forward or an automatic reply, and when an answer may leave without approval."""

from uuid import UUID

import pytest

from domain.jobs.failures import Invalid
from domain.mail.actions.requested_action import AutoReply, Forward
from domain.mail.outgoing.automatic_answers import why_not
from domain.mail.outgoing.send_orders import MOST_ANSWERED, ActionContext, check_conversation, check_people, send_order
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.triage.automation import Automation, detect_automation
from domain.mail.triage.automation_signals import AutomationKind, Weight
from domain.payloads.outbound import SendPayload
from tests.domain.mail.messages import make_message

OWN = frozenset({"owner@example.com", "sales@example.com"})
HUMAN = Automation(AutomationKind.HUMAN, Weight.NONE)


def about(original: ParsedMessage) -> ActionContext:
    return ActionContext(UUID(int=1), UUID(int=2), "18c2f0a1b2c3d4e6", "18c2f0a1b2c3d4e5", original)


def reply_to(original: ParsedMessage) -> SendPayload:
    return send_order(AutoReply(text="Out of office."), about(original), OWN)


def test_a_forward_names_its_recipients_and_no_thread() -> None:
    wish = Forward(to=("ada@example.org",), cc=("bob@example.org",), note="For you.")
    order = send_order(wish, about(make_message()), OWN)
    assert (order.message_type, order.to, order.cc) == ("forward", ("ada@example.org",), ("bob@example.org",))
    assert (order.body_plain, order.thread_id) == ("For you.", None)
    assert order.original_message_id == "18c2f0a1b2c3d4e6"
    assert order.attachments == (), "files are fetched when the mail is sent"


def test_an_odd_address_that_mail_can_be_sent_to_is_ordered_as_it_is_written() -> None:
    wish = Forward(to=("try..this@docomo.ne.jp", "info@bücher.example"))
    order = send_order(wish, about(make_message()), OWN)
    assert order.to == ('"try..this"@docomo.ne.jp', "info@xn--bcher-kva.example")
    answer = reply_to(make_message(**{"from": "Ann <try..this@docomo.ne.jp>"}))
    assert answer.to == ("Ann <try..this@docomo.ne.jp>",)
    check_people(answer, order)


def test_a_reply_goes_where_the_sender_wants_it() -> None:
    assert reply_to(make_message()).to == ("Ada <ada@example.org>",)
    assert reply_to(make_message(reply_to="desk@example.org")).to == ("desk@example.org",)
    assert reply_to(make_message()).thread_id == "18c2f0a1b2c3d4e5"


def test_a_reply_never_goes_to_the_account_itself() -> None:
    mixed = make_message(reply_to="Sales <SALES@example.com>, desk@example.org")
    assert reply_to(mixed).to == ("desk@example.org",)
    with pytest.raises(Invalid, match="no sender"):
        reply_to(make_message(reply_to="owner@example.com"))


def test_an_order_names_only_messages_of_the_conversation() -> None:
    original = make_message(
        message_id="<three@example.org>", in_reply_to="<two@example.org>", references="<one@example.org>"
    )
    known = tuple(f"<{name}@example.org>" for name in ("one", "two", "three"))
    order = reply_to(original)
    check_conversation(order, original)
    check_conversation(order.model_copy(update={"references": known}), original)
    with pytest.raises(Invalid) as refusal:
        check_conversation(order.model_copy(update={"references": (*known, "<other@example.org>")}), original)
    assert refusal.value.field == "payload.references.3"


def test_a_hostile_reply_to_is_bounded_and_cleaned() -> None:
    many = make_message(reply_to=", ".join(f"p{place}@example.org" for place in range(300)))
    assert len(reply_to(many).to) == MOST_ANSWERED
    hostile = make_message(from_='"Eve =?utf-8?q?x=0D=0ABcc:?=" <eve@example.org>')
    assert all("\n" not in one for one in reply_to(hostile).to)


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, None),
        ({"auto_submitted": "auto-replied"}, "automated"),
        ({"return_path": "<>"}, "automated"),
        ({"from_": "Me <owner@example.com>", "reply_to": "ada@example.org"}, "own mail"),
    ],
)
def test_nobody_answers_machines_without_a_person(headers: dict[str, str], reason: str | None) -> None:
    given = {key.rstrip("_"): value for key, value in headers.items()}
    original = make_message(**given)
    automation = detect_automation(original)
    if "own" in (reason or ""):
        automation = Automation(AutomationKind.SELF, Weight.CERTAIN)
    found = why_not(reply_to(original), original, automation, OWN)
    assert found is None if reason is None else reason in (found or "")


def test_an_answer_without_approval_reaches_only_who_is_in_the_conversation() -> None:
    original = make_message()
    order = reply_to(original).model_copy(update={"bcc": ("eve@example.net",)})
    assert "not in the conversation" in (why_not(order, original, HUMAN, OWN) or "")
    new = order.model_copy(update={"message_type": "new"})
    assert "asked for it" in (why_not(new, None, None, OWN) or "")

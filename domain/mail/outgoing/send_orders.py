"""The order to send that carries out a forward or an automatic reply."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.failures import Invalid
from domain.mail.actions.requested_action import AutoReply, Forward
from domain.mail.outgoing.header_lines import mailbox_text
from domain.mail.outgoing.subjects import plain_subject
from domain.mail.parsing.html_text import html_to_text
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.payloads.mail_address import address_key
from domain.payloads.mail_fields import mailbox_parts
from domain.payloads.outbound import AttachmentField, SendPayload

_PLAIN_MARKUP = re.compile(r"(?:[^<]|</?(?:p|br|div|b|i|em|strong) ?/?>)*+", re.IGNORECASE)
"""Markup without attributes: nothing in it can hide words, or lead elsewhere."""
MOST_ANSWERED = 10
"""Recipients of an answer; a Reply-To may name whole lists."""


@dataclass(frozen=True, slots=True)
class ActionContext:
    """The action that sends, and the stored message that it is about."""

    account_id: UUID
    action_id: UUID
    message_id: str
    thread_id: str
    original: ParsedMessage


def send_order(
    action: Forward | AutoReply, about: ActionContext, own: Collection[str], files: Sequence[AttachmentField] = ()
) -> SendPayload:
    """What `outbound.send` needs to carry the action out.

    `own` are the account's addresses, as they are compared, which are not answered. `files` are those that the action
    names. The text and the files of a forwarded message are fetched when it is sent.
    Raises `Invalid` with the field for a recipient that mail cannot be sent to, and for a message without a sender that
    can be answered.
    """
    match action:
        case Forward():
            words: dict[str, Any] = {"to": action.to, "cc": action.cc, "body_plain": action.note or ""}
            return _order(about, message_type="forward", attachments=tuple(files), **words)
        case AutoReply():
            to = answered(about.original, own)
            words = {"to": to, "body_plain": action.text, "thread_id": about.thread_id}
            return _order(about, message_type="reply", attachments=tuple(files), **words)


def check_people(order: SendPayload, asked: SendPayload) -> None:
    """Refuse an order to others than the action's own goes to; raises `Invalid` with the field."""
    allowed = {address_key(mailbox_parts(one)[1]) for one in asked.recipients}
    for field in ("to", "cc", "bcc"):
        for place, one in enumerate(getattr(order, field)):
            if address_key(mailbox_parts(one)[1]) not in allowed:
                raise Invalid(f"payload.{field}.{place}", "is nobody to whom the action sends")


def check_conversation(order: SendPayload, original: ParsedMessage) -> None:
    """Refuse an order that names another conversation than the original's; raises `Invalid` with the field.

    Mail programs show a mail among those that it names: with ids of another one, it would be read in its light.
    """
    known = {*original.references, original.in_reply_to, original.message_id}
    for place, one in enumerate(order.references):
        if one not in known:
            raise Invalid(f"payload.references.{place}", "is no message of the original's conversation")


def check_words(order: SendPayload, asked: SendPayload, original: ParsedMessage) -> None:
    """Refuse an order that says something else than the action's own, in subject or body; raises `Invalid`."""
    if order.subject.strip() and plain_subject(order.subject) != plain_subject(original.subject):
        raise Invalid("payload.subject", "is another than the original's")
    words = asked.body_plain.split()
    if order.body_plain.strip() and order.body_plain.split() != words:
        raise Invalid("payload.body_plain", "are other words than the action's")
    if not order.body_html.strip():
        return
    if not _PLAIN_MARKUP.fullmatch(order.body_html):
        raise Invalid("payload.body_html", "holds more markup than paragraphs and emphasis")
    if html_to_text(order.body_html).split() != words:
        raise Invalid("payload.body_html", "are other words than the action's")


def answered(original: ParsedMessage, own: Collection[str]) -> tuple[str, ...]:
    """Whom a reply goes to: Reply-To, or else From, without the account's own addresses."""
    asked = original.reply_to or ((original.from_,) if original.from_ else ())
    people = dict.fromkeys(mailbox_text(one) for one in asked if one.key not in own and one.is_writable)
    if not people:
        raise Invalid("original", "has no sender who could be answered")
    return tuple(people)[:MOST_ANSWERED]


def _order(about: ActionContext, **fields: Any) -> SendPayload:  # noqa: ANN401 - fields of the payload
    try:
        return SendPayload(
            account_id=about.account_id,
            action_id=about.action_id,
            original_message_id=about.message_id,
            **fields,
        )
    except ValidationError as error:
        raise first_problem(error, under="parameters.") from error

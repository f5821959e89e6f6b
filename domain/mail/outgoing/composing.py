"""From an order to send, and the message it is about, to the mail that leaves (docs: sending.md)."""

from collections.abc import Sequence
from datetime import datetime
from email.utils import format_datetime
from html import escape

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import header_text, mailbox_text
from domain.mail.outgoing.outgoing_mail import AttachmentBody, AutomatedKind, MailMessage
from domain.mail.outgoing.senders import SenderWords
from domain.mail.outgoing.subjects import forward_subject, plain_subject, reply_subject
from domain.mail.outgoing.thread_ids import known_references, thread_ids
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.payloads.mail_address import Address
from domain.payloads.mail_fields import mailbox_parts
from domain.payloads.outbound import SendPayload

_RULE = "---------- Forwarded message ---------"


def compose(  # noqa: PLR0913 - a mail's facts come from six places
    order: SendPayload,
    original: ParsedMessage | None,
    *,
    sender: SenderWords,
    token: str,
    date: datetime,
    files: Sequence[AttachmentBody] = (),
    automatic: AutomatedKind | None = None,
) -> MailMessage:
    """The mail of an order. `original` is there for a reply and a forward; `files` are all that go with it.

    Raises `Invalid` with the payload's field for a reply that would leave its conversation.
    """
    replying = order.message_type == "reply" and original is not None
    parents: tuple[str, ...] = ()
    if replying and original is not None:
        parents = thread_ids(order.references or known_references(original), original.message_id, token)
    parent = original.message_id if replying and original is not None and original.message_id in parents else None
    return MailMessage(
        sender=sender.address,
        to=_addresses(order.to),
        cc=_addresses(order.cc),
        bcc=_addresses(order.bcc),
        subject=subject_of(order, original),
        text=_text(order, original),
        html=_html(order, original),
        token=token,
        date=date,
        reply_to=sender.reply_to,
        in_reply_to=parent,
        references=parents,
        files=tuple(files),
        automatic=automatic,
    )


def subject_of(order: SendPayload, original: ParsedMessage | None) -> str:
    """The subject with one prefix; a reply keeps its original's, by which Gmail threads."""
    theirs = "" if original is None else header_text(original.subject)
    wanted = order.subject.strip() or theirs
    if order.message_type == "new":
        return wanted
    if order.message_type == "forward":
        return forward_subject(wanted)
    if plain_subject(wanted) != plain_subject(theirs):
        raise Invalid("payload.subject", "is another than the original's: Gmail would begin a new conversation")
    return reply_subject(wanted)


def _addresses(texts: Sequence[str]) -> tuple[Address, ...]:
    return tuple(Address(*mailbox_parts(one)) for one in texts)


def _text(order: SendPayload, original: ParsedMessage | None) -> str:
    if order.message_type != "forward" or original is None:
        return order.body_plain
    quoted = "\n".join((_RULE, *_facts(original), "", clean_text(original.text)))
    return f"{order.body_plain.rstrip()}\n\n{quoted}" if order.body_plain.strip() else quoted


def _html(order: SendPayload, original: ParsedMessage | None) -> str:
    """The HTML body. The original's is not stored, so its text is quoted: what strangers wrote is escaped."""
    if order.message_type != "forward" or original is None or not order.body_html.strip():
        return order.body_html
    facts = "<br>".join(escape(line) for line in (_RULE, *_facts(original)))
    text = escape(clean_text(original.text))
    return f'{order.body_html}<br><br><div>{facts}<br><br><div style="white-space: pre-wrap">{text}</div></div>'


def _facts(original: ParsedMessage) -> list[str]:
    """The head of a quoted message, as mailers show it."""
    told = [
        ("From", "" if original.from_ is None else mailbox_text(original.from_)),
        ("Date", "" if original.date is None else format_datetime(original.date)),
        ("Subject", header_text(original.subject)),
        ("To", ", ".join(mailbox_text(one) for one in original.to[:20])),
        ("Cc", ", ".join(mailbox_text(one) for one in original.cc[:20])),
    ]
    return [f"{name}: {value}" for name, value in told if value]

"""The order to send that carries out a forward or an automatic reply."""

from collections.abc import Collection
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import mailbox_text
from domain.mail.parsing.parsed_message import Address, ParsedMessage
from domain.payloads.mail_fields import mailbox_parts
from domain.payloads.outbound import SendPayload

MOST_ANSWERED = 10
"""Recipients of an answer; a Reply-To may name whole lists."""


def forward_order(
    account_id: UUID, action_id: UUID, *, message_id: str, recipient: str, comment: str = ""
) -> SendPayload:
    """Forward a stored message. Its text and files are fetched when it is sent.

    Raises pydantic's `ValidationError`, a `ValueError`, for a recipient that is no address.
    """
    return SendPayload(
        account_id=account_id,
        action_id=action_id,
        message_type="forward",
        to=(recipient,),
        body_plain=comment,
        original_message_id=message_id,
    )


def reply_order(  # noqa: PLR0913 - an order's fields, by keyword
    account_id: UUID,
    action_id: UUID,
    *,
    message_id: str,
    thread_id: str,
    original: ParsedMessage,
    text: str,
    own: Collection[str],
) -> SendPayload:
    """Answer a stored message: Reply-To, or else From, without the account's own addresses (`own`).

    Raises `Invalid` when nobody is left who could be answered.
    """
    mine = {one.casefold() for one in own}
    asked = original.reply_to or ((original.from_,) if original.from_ else ())
    people = [one for one in asked if one.key not in mine and _can_get_mail(one)][:MOST_ANSWERED]
    if not people:
        raise Invalid("original", "has no sender who could be answered")
    return SendPayload(
        account_id=account_id,
        action_id=action_id,
        message_type="reply",
        to=tuple(mailbox_text(one) for one in people),
        body_plain=text,
        original_message_id=message_id,
        thread_id=thread_id,
    )


def _can_get_mail(address: Address) -> bool:
    """Whether a payload takes the address: strangers write what they like into Reply-To."""
    try:
        mailbox_parts(mailbox_text(address))
    except ValueError:
        return False
    return True

"""When mail may leave that no person has approved (docs: automated-mail.md#our-own-answers)."""

from collections.abc import Collection
from datetime import timedelta

from domain.mail.outgoing.outgoing_mail import Automatic
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.triage.automation import Automation, replies_allowed
from domain.mail.triage.automation_signals import AutomationKind
from domain.payloads.mail_fields import mailbox_parts
from domain.payloads.outbound import SendPayload

ONE_ANSWER_PER = timedelta(days=7)
"""So often at most does a correspondent get an answer that nobody approved: RFC 5230's default for vacation notices."""


def kind_of(order: SendPayload) -> Automatic:
    """How an order that no person approved names its mail."""
    return Automatic.REPLIED if order.message_type == "reply" else Automatic.GENERATED


def addresses_of(order: SendPayload) -> frozenset[str]:
    """Everybody who gets the mail, as addresses are compared."""
    return frozenset(mailbox_parts(one)[1].casefold() for one in order.recipients)


def why_not(
    order: SendPayload, original: ParsedMessage, automation: Automation | None, own: Collection[str]
) -> str | None:
    """Why an answer may not leave without a person's approval, or None; that it is one too many, storage knows.

    It goes to those who take part in the conversation and to nobody else: what a mail says must not name recipients.
    """
    if order.message_type != "reply":
        return None
    if automation is not None and automation.kind is AutomationKind.SELF:
        return "the original is the account's own mail"
    if automation is not None and not replies_allowed(automation):
        return f"the original is automated ({automation.kind}, {automation.weight})"
    if addresses_of(order) & {one.casefold() for one in own}:
        return "the answer would go to the account itself"
    sender = () if original.from_ is None else (original.from_,)
    known = {one.key for one in (*sender, *original.reply_to, *original.to, *original.cc)}
    if not addresses_of(order) <= known:
        return "the answer would go to somebody who is not in the conversation"
    return None

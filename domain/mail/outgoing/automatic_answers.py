"""When mail may leave that no person has approved (docs: automated-mail.md#our-own-answers)."""

from collections.abc import Collection
from datetime import timedelta

from domain.mail.outgoing.outgoing_mail import AutomatedKind
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.triage.automation import Automation, replies_allowed
from domain.mail.triage.automation_signals import AutomationKind, Weight
from domain.payloads.mail_address import address_key
from domain.payloads.mail_fields import mailbox_parts
from domain.payloads.outbound import SendPayload

ONE_ANSWER_PER = timedelta(days=7)
"""The shortest time between two unapproved answers to a correspondent: RFC 5230's default for vacation notices."""


def kind_of(order: SendPayload) -> AutomatedKind:
    """How an order that no person approved names its mail."""
    return AutomatedKind.REPLIED if order.message_type == "reply" else AutomatedKind.GENERATED


def addresses_of(order: SendPayload) -> frozenset[str]:
    """Everybody who gets the mail, as addresses are compared."""
    return frozenset(address_key(mailbox_parts(one)[1]) for one in order.recipients)


def why_not(
    order: SendPayload, original: ParsedMessage | None, automation: Automation | None, own: Collection[str]
) -> str | None:
    """Why a mail may not leave without a person's approval, or None; that it is one too many, storage knows.

    An answer goes to those who take part in the conversation and to nobody else: what a mail says names no recipients.
    """
    if order.message_type == "new":
        return "a new mail always has somebody who asked for it"
    if order.message_type == "forward" or original is None:
        return None
    there = automation or Automation(AutomationKind.HUMAN, Weight.NONE)
    to = addresses_of(order)
    known = original.people | {one.key for one in original.reply_to}
    doubts = (
        (there.kind is AutomationKind.SELF, "the original is the account's own mail"),
        (not replies_allowed(there), f"the original is automated ({there.kind}, {there.weight})"),
        (not to.isdisjoint(own), "the answer would go to the account itself"),
        (not to <= known, "the answer would go to somebody who is not in the conversation"),
    )
    return next((reason for applies, reason in doubts if applies), None)

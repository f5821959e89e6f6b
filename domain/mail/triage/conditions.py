"""The conditions of a mail rule; each evaluates itself (docs: automated-mail.md#conditions)."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from domain.mail.parsing.parsed_message import Address
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.mail_facts import MailFacts
from domain.mail.triage.text_conditions import Body, FrozenCondition, Header, Subject, Text
from domain.payloads.mail_address import address_key, domain_key
from domain.spelling.normal_form import normal_form

MOST_CHILDREN = 50
LARGEST_SIZE = 1_000_000_000
"""Bytes, far above any message that Gmail takes."""
Addresses = Annotated[list[Text], Field(min_length=1, max_length=500)]


class Sender(FrozenCondition):
    """From is one of these addresses; the display name is never looked at."""

    kind: Literal["sender"]
    addresses: Addresses

    def matches(self, facts: MailFacts) -> bool:
        """Compare parsed, and the same for each way to write an address."""
        sender = facts.message.from_
        return sender is not None and sender.key in {address_key(one) for one in self.addresses}


class SenderDomain(FrozenCondition):
    """From is in one of these domains, or below them when `subdomains` is set."""

    kind: Literal["domain"]
    domains: Addresses
    subdomains: bool = False

    def matches(self, facts: MailFacts) -> bool:
        """Compare whole labels: example.com never matches notexample.com."""
        sender = facts.message.from_
        domains = [domain_key(one.strip(" .@")) for one in self.domains]
        if sender is None:
            return False
        return any(sender.domain == one or (self.subdomains and sender.domain.endswith(f".{one}")) for one in domains)


class Recipient(FrozenCondition):
    """One of these addresses is among the recipients, in To, in Cc, or in either."""

    kind: Literal["recipient"]
    addresses: Addresses
    position: Literal["to", "cc", "any"] = "any"

    def matches(self, facts: MailFacts) -> bool:
        """Compare parsed, and the same for each way to write an address."""
        wanted = {address_key(one) for one in self.addresses}
        return any(address.key in wanted for address in self._recipients(facts))

    def _recipients(self, facts: MailFacts) -> tuple[Address, ...]:
        message = facts.message
        return {"to": message.to, "cc": message.cc, "any": (*message.to, *message.cc, *message.bcc)}[self.position]


class Label(FrozenCondition):
    """The message carries this label, named by its id."""

    kind: Literal["label"]
    label_id: Text

    def matches(self, facts: MailFacts) -> bool:
        """Compare ids; names change."""
        return self.label_id in facts.label_ids


class Size(FrozenCondition):
    """The message is larger than `over` bytes and smaller than `under`."""

    kind: Literal["size"]
    over: Annotated[int, Field(ge=0, le=LARGEST_SIZE)] = -1
    under: Annotated[int, Field(ge=1, le=LARGEST_SIZE)] | None = None

    def matches(self, facts: MailFacts) -> bool:
        """Look at the raw size."""
        return facts.message.size > self.over and (self.under is None or facts.message.size < self.under)


class HasAttachment(FrozenCondition):
    """There is an attachment, of this content type (or `image/*`) and with this ending where they are given."""

    kind: Literal["attachment"]
    content_type: Text | None = None
    ending: Text | None = None

    def matches(self, facts: MailFacts) -> bool:
        """One attachment has to fit both."""
        return any(
            self._is_type(attachment.content_type)
            and (self.ending is None or _ends_with(attachment.filename, self.ending))
            for attachment in facts.message.attachments
        )

    def _is_type(self, content_type: str) -> bool:
        if self.content_type is None:
            return True
        wanted = self.content_type.casefold()
        return content_type.startswith(wanted[:-1]) if wanted.endswith("/*") else content_type == wanted


def _ends_with(name: str, ending: str) -> bool:
    return normal_form(name).rstrip().endswith(normal_form(ending).rstrip())


class Automated(FrozenCondition):
    """The mail is automated in one of these ways; without any, in whatever way but a discussion list."""

    kind: Literal["automated"]
    kinds: Annotated[list[AutomationKind], Field(max_length=len(AutomationKind))] = Field(default_factory=list)

    def matches(self, facts: MailFacts) -> bool:
        """Look at what the automation rules found; `kinds: [list]` asks for list mail."""
        if self.kinds:
            return facts.automation.kind in self.kinds
        return facts.automation.kind not in {AutomationKind.HUMAN, AutomationKind.LIST}


class Age(FrozenCondition):
    """The mail came more than `over_hours` and less than `under_hours` ago."""

    kind: Literal["age"]
    over_hours: Annotated[float, Field(ge=0, allow_inf_nan=False, le=1_000_000)] | None = None
    under_hours: Annotated[float, Field(gt=0, allow_inf_nan=False, le=1_000_000)] | None = None

    def matches(self, facts: MailFacts) -> bool:
        """Look at the time of receipt, never at the Date header."""
        if self.over_hours is not None and facts.age <= timedelta(hours=self.over_hours):
            return False
        return self.under_hours is None or facts.age < timedelta(hours=self.under_hours)


class FirstContact(FrozenCondition):
    """Nobody here has corresponded with the sender before."""

    kind: Literal["first_contact"]

    def matches(self, facts: MailFacts) -> bool:
        """Whoever gathered the facts has looked."""
        return facts.first_contact


class HasMyReply(FrozenCondition):
    """The thread holds a reply of the account's owner."""

    kind: Literal["has_my_reply"]

    def matches(self, facts: MailFacts) -> bool:
        """Whoever gathered the facts has looked."""
        return facts.thread_has_my_reply


class All(FrozenCondition):
    """Every one of the conditions inside holds."""

    kind: Literal["all"]
    conditions: Annotated[list["Condition"], Field(min_length=1, max_length=MOST_CHILDREN)]

    def matches(self, facts: MailFacts) -> bool:
        """Stop at the first that does not hold."""
        return all(condition.matches(facts) for condition in self.conditions)


class AnyOf(FrozenCondition):
    """At least one of the conditions inside holds."""

    kind: Literal["any"]
    conditions: Annotated[list["Condition"], Field(min_length=1, max_length=MOST_CHILDREN)]

    def matches(self, facts: MailFacts) -> bool:
        """Stop at the first that holds."""
        return any(condition.matches(facts) for condition in self.conditions)


class Not(FrozenCondition):
    """The condition inside does not hold."""

    kind: Literal["not"]
    condition: "Condition"

    def matches(self, facts: MailFacts) -> bool:
        """The contrary. A pattern of no use raises, so it is never taken for a miss here."""
        return not self.condition.matches(facts)


Condition = Annotated[
    Sender
    | SenderDomain
    | Recipient
    | Subject
    | Body
    | Header
    | Label
    | Size
    | HasAttachment
    | Automated
    | Age
    | FirstContact
    | HasMyReply
    | All
    | AnyOf
    | Not,
    Field(discriminator="kind"),
]

for _nested in (All, AnyOf, Not):
    _nested.model_rebuild()

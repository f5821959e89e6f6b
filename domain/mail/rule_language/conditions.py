"""The conditions of a mail rule, as they are written; each evaluates itself (docs: automated-mail.md#conditions)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import ConfigDict, Discriminator, Field, StrictBool, Tag, model_validator

from domain.documents.faults import Fault
from domain.documents.language import OneOrMany, Value, Words, refused
from domain.documents.paths import Path
from domain.mail.parsing.parsed_message import Attachment
from domain.mail.rule_language.text_conditions import Body, Header, Subject
from domain.mail.rule_language.values import Addresses, Bytes, Domains, Hours, LabelName, Text
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.mail_facts import MailFacts
from domain.orgs.spelling.normal_form import normal_form
from domain.payloads.mail_address import Address, address_key, domain_key

DEEPEST_CONDITION = 8
MOST_CONDITIONS = 200
MOST_CHILDREN = 50
NEEDS_ONE = ConfigDict(json_schema_extra={"minProperties": 1})
_BY_SHAPE = Discriminator(lambda value: "<flag>" if isinstance(value, bool) else "<words>")
"""Tells true and false from all else; no word of the language begins so."""
Bound = TypeVar("Bound", bound=float)


class ConditionPart(Protocol):
    """What one word says of a message."""

    def matches(self, facts: MailFacts) -> bool:
        """Whether that holds."""


class Sender(Value[Addresses]):
    """From is one of these addresses; the display name is never looked at."""

    def matches(self, facts: MailFacts) -> bool:
        """Compare parsed, and the same for each way to write an address."""
        sender = facts.message.from_
        return sender is not None and sender.key in {address_key(one) for one in self.root}


class SenderDomain(Words):
    """From is in one of these domains, or below them when `subdomains` is set."""

    short = "names"
    names: Domains
    subdomains: StrictBool = False

    def matches(self, facts: MailFacts) -> bool:
        """Compare whole labels: example.com never matches notexample.com."""
        sender = facts.message.from_
        domains = [domain_key(one.strip(" .@")) for one in self.names]
        if sender is None:
            return False
        return any(sender.domain == one or (self.subdomains and sender.domain.endswith(f".{one}")) for one in domains)


class Recipient(Value[Addresses]):
    """One of these addresses is among the recipients."""

    headers: ClassVar[tuple[str, ...]] = ("to", "cc", "bcc")

    def matches(self, facts: MailFacts) -> bool:
        """Compare parsed, and the same for each way to write an address."""
        wanted = {address_key(one) for one in self.root}
        recipients: list[Address] = [one for header in self.headers for one in getattr(facts.message, header)]
        return any(address.key in wanted for address in recipients)


class ToRecipient(Recipient):
    """One of these addresses is in To."""

    headers = ("to",)


class CcRecipient(Recipient):
    """One of these addresses is in Cc."""

    headers = ("cc",)


class Label(Value[LabelName]):
    """The message carries this label; read, it is named by its id."""

    def matches(self, facts: MailFacts) -> bool:
        """Compare ids; names change."""
        return self.root in facts.label_ids


class _Between(Words, Generic[Bound]):
    """More than `over`, less than `under`."""

    model_config = NEEDS_ONE

    over: Bound | None = None
    under: Bound | None = None

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        if self.over is None and self.under is None:
            raise ValueError("needs over, under, or both")
        if self.over is not None and self.under is not None and self.over >= self.under:
            raise ValueError("holds for no message: over must be less than under")
        return self


class Size(_Between[Bytes]):
    """The message is larger than `over` bytes and smaller than `under`."""

    def matches(self, facts: MailFacts) -> bool:
        """Look at the raw size."""
        size = facts.message.size
        return (self.over is None or size > self.over) and (self.under is None or size < self.under)


class Age(_Between[Hours]):
    """The mail came more than `over` and less than `under` ago."""

    def matches(self, facts: MailFacts) -> bool:
        """Look at the time of receipt, never at the Date header."""
        if self.over is not None and facts.age <= timedelta(hours=self.over):
            return False
        return self.under is None or facts.age < timedelta(hours=self.under)


class AttachmentWords(Words):
    """An attachment of this content type (or `image/*`) and with this ending, where they are given."""

    content_type: Text | None = Field(None, alias="type")
    ending: Text | None = None

    def fits(self, attachment: Attachment) -> bool:
        """Whether an attachment fits both."""
        return self._is_type(attachment.content_type) and (
            self.ending is None or _ends_with(attachment.filename, self.ending)
        )

    def _is_type(self, content_type: str) -> bool:
        if self.content_type is None:
            return True
        wanted = self.content_type.casefold()
        return content_type.startswith(wanted[:-1]) if wanted.endswith("/*") else content_type == wanted


def _ends_with(name: str, ending: str) -> bool:
    return normal_form(name).rstrip().endswith(normal_form(ending).rstrip())


class HasAttachment(
    Value[Annotated[Annotated[StrictBool, Tag("<flag>")] | Annotated[AttachmentWords, Tag("<words>")], _BY_SHAPE]]
):
    """There is an attachment, such a one, or none."""

    def matches(self, facts: MailFacts) -> bool:
        """One attachment has to fit all that is said."""
        if isinstance(self.root, bool):
            return bool(facts.message.attachments) is self.root
        return any(self.root.fits(one) for one in facts.message.attachments)


Kinds = Annotated[list[AutomationKind], Field(min_length=1, max_length=len(AutomationKind)), OneOrMany()]


class Automated(Value[Annotated[Annotated[StrictBool, Tag("<flag>")] | Annotated[Kinds, Tag("<words>")], _BY_SHAPE]]):
    """The mail is automated in one of these ways; or in whatever way but a discussion list, or is not."""

    def matches(self, facts: MailFacts) -> bool:
        """Look at what the automation rules found; `[list]` asks for list mail."""
        kind = facts.automation.kind
        if isinstance(self.root, bool):
            return (kind not in {AutomationKind.HUMAN, AutomationKind.LIST}) is self.root
        return kind in self.root


class FirstContact(Value[StrictBool]):
    """Whether nobody here has corresponded with the sender before."""

    def matches(self, facts: MailFacts) -> bool:
        """Whoever gathered the facts has looked."""
        return facts.first_contact is self.root


class HasMyReply(Value[StrictBool]):
    """Whether the thread holds a reply of the account's owner."""

    def matches(self, facts: MailFacts) -> bool:
        """Whoever gathered the facts has looked."""
        return facts.thread_has_my_reply is self.root


Conditions = Annotated[list["Condition"], Field(min_length=1, max_length=MOST_CHILDREN)]


class All(Value[Conditions]):
    """Every one of the conditions inside holds."""

    def matches(self, facts: MailFacts) -> bool:
        """Stop at the first that does not hold."""
        return all(condition.matches(facts) for condition in self.root)


class AnyOf(Value[Conditions]):
    """At least one of the conditions inside holds."""

    def matches(self, facts: MailFacts) -> bool:
        """Stop at the first that holds."""
        return any(condition.matches(facts) for condition in self.root)


class Not(Value["Condition"]):
    """The condition inside does not hold."""

    def matches(self, facts: MailFacts) -> bool:
        """The contrary. A pattern of no use raises, so it is never taken for a miss here."""
        return not self.root.matches(facts)


class Condition(Words):
    """Words that must all hold."""

    model_config = NEEDS_ONE

    from_: Sender | None = None
    domain: SenderDomain | None = None
    to: ToRecipient | None = None
    cc: CcRecipient | None = None
    recipient: Recipient | None = None
    subject: Subject | None = None
    body: Body | None = None
    header: Header | None = None
    label: Label | None = None
    size: Size | None = None
    attachment: HasAttachment | None = None
    automated: Automated | None = None
    age: Age | None = None
    first_contact: FirstContact | None = None
    has_my_reply: HasMyReply | None = None
    all_: All | None = None
    any_: AnyOf | None = None
    not_: Not | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"must name a condition: {', '.join(self.words.values())}")
        return self

    def parts(self) -> Iterator[tuple[str, ConditionPart]]:
        """The names of the fields that are given, with what each says."""
        return ((name, part) for name, part in self if part is not None)

    def matches(self, facts: MailFacts) -> bool:
        """Stop at the first word that does not hold."""
        return all(part.matches(facts) for _, part in self.parts())


for _nested in (All, AnyOf, Not):
    _nested.model_rebuild()


def bounded(condition: object) -> object:
    """A condition as it is written; its depth and number are looked at before anything recursive does."""
    level: list[tuple[Path, object]] = [((), condition)]
    count = 0
    for _ in range(DEEPEST_CONDITION):
        mappings = [(path, one) for path, one in level if isinstance(one, dict)]
        for path, one in mappings:
            count += len(one)
            if count > MOST_CONDITIONS:
                word = [*one][MOST_CONDITIONS - count]
                raise refused(Fault((*path, word), f"is one of more than {MOST_CONDITIONS} conditions"))
        level = [child for path, one in mappings for child in _children(path, one)]
    if level:
        raise refused(Fault(level[0][0], f"is nested deeper than {DEEPEST_CONDITION} levels"))
    return condition


def _children(path: Path, condition: dict[str, object]) -> list[tuple[Path, object]]:
    """The conditions directly inside one."""
    found: list[tuple[Path, object]] = [((*path, "not"), condition["not"])] if "not" in condition else []
    for word in ("all", "any"):
        several = condition.get(word)
        if isinstance(several, list):
            found += [((*path, word, number), one) for number, one in enumerate(several)]
    return found

"""A rule as people write it: `when` and `then`, or `tell` for the model to decide (docs: rule-language.md)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    StrictBool,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from domain.documents.faults import Fault
from domain.documents.language import AS_TEXT, LanguageSchema, Words, faults_of
from domain.documents.paths import Path
from domain.jobs.contract import misfit
from domain.jobs.job import JsonObject
from domain.mail.actions.label_actions import ApplyLabel, RemoveLabel
from domain.mail.actions.requested_action import Forward
from domain.mail.mail_fence import one_line
from domain.mail.mailbox import SYSTEM_LABELS
from domain.mail.rule_language.conditions import All, AnyOf, Condition, Label, Not
from domain.mail.rule_language.rule_context import RuleContext
from domain.mail.rule_language.rules import Name, Rule, WhenRule
from domain.mail.rule_language.values import Address, Domain, LabelName
from domain.mail.triage.prompts import LONGEST_RULE, RuleScope
from domain.payloads.mail_address import address_key, domain_key

MOST_LABELS_NAMED = 50


def _shown_whole(text: str) -> str:
    if len(one_line(text)) > LONGEST_RULE:
        raise ValueError(f"is longer than {LONGEST_RULE} characters, more than the model is shown")
    return text


Told = Annotated[str, AS_TEXT, AfterValidator(_shown_whole)]
"""What the model is told: one text that it is shown whole."""


class Whose(Words):
    """Whose mail: a domain's, or one sender's."""

    domain: Annotated[Domain, AfterValidator(domain_key)] | None = None
    sender: Annotated[Address, AfterValidator(address_key)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.domain is not None and self.sender is not None:
            raise misfit("domain", "goes with no sender: give one of the two")
        return self

    @property
    def narrow(self) -> tuple[RuleScope, str] | None:
        """The scope and what it names; None for everybody's mail."""
        if self.domain is not None:
            return RuleScope.DOMAIN, self.domain
        return None if self.sender is None else (RuleScope.SENDER, self.sender)


Reach = Annotated[
    Annotated[Literal["account", "global"], Tag("<word>")] | Annotated[Whose, Tag("<words>")],
    Discriminator(lambda value: "<words>" if isinstance(value, dict | Whose) else "<word>"),
]


class ToldRule(Words):
    """A rule in plain words for the model, as it is written."""

    name: Name
    enabled: StrictBool = True
    content: Told = Field(alias="tell")
    for_: Reach = "account"
    labels: Annotated[tuple[LabelName, ...], Field(max_length=MOST_LABELS_NAMED)] = ()
    """Ids of the labels that it names: it is turned off when one of them vanishes."""

    @model_validator(mode="after")
    def _reaches_somebody(self) -> Self:
        if isinstance(self.for_, Whose) and self.for_.narrow is None:
            raise misfit("for", "must be account, global, {domain: …} or {sender: …}")
        return self

    @classmethod
    def of(
        cls, name: str, content: str, scope: RuleScope, ref: str | None, labels: Iterable[str], *, enabled: bool
    ) -> "ToldRule":
        """A rule that was saved; `ref` is the domain or address that a narrow scope names."""
        reach = scope.value if ref is None else {scope.value: ref}
        words = {"name": name, "tell": content, "for": reach, "labels": tuple(labels), "enabled": enabled}
        return cls.model_validate(words)

    @property
    def scope(self) -> RuleScope:
        """How far it reaches."""
        return self._reach[0]

    @property
    def ref(self) -> str | None:
        """The domain or address that a narrow scope names."""
        return self._reach[1]

    @property
    def _reach(self) -> tuple[RuleScope, str | None]:
        if isinstance(self.for_, Whose):
            return self.for_.narrow or (RuleScope.ACCOUNT, None)
        return RuleScope(self.for_), None

    @property
    def document(self) -> JsonObject:
        """The rule as it is written; what is usual is left out."""
        return self.model_dump(mode="json", exclude_defaults=True)


WrittenRule = Rule | ToldRule
RULE_SCHEMA: JsonObject = TypeAdapter(WhenRule | ToldRule).json_schema(
    ref_template="#/components/schemas/{model}", schema_generator=LanguageSchema
)
"""JSON Schema of a rule. What it lets through is still compared with the mailbox, its org and the clock."""


def read_rule(value: object, path: Path, context: RuleContext) -> WrittenRule | list[Fault]:
    """One rule of either kind, or every fault in it."""
    try:
        if isinstance(value, Mapping) and "tell" in value:
            return ToldRule.model_validate(value, context=context)
        return Rule.of(WhenRule.model_validate(value, context=context))
    except ValidationError as error:
        return list(faults_of(error, value, path))


def labels_named(rules: Iterable[WrittenRule]) -> frozenset[str]:
    """The labels that rules name, by id; Gmail's own, which every mailbox has, aside."""
    found: set[str] = set()
    for rule in rules:
        if isinstance(rule, ToldRule):
            found.update(rule.labels)
        else:
            found.update(_labels_in(rule.condition))
            found.update(one.label_id for one in rule.decision.actions if isinstance(one, (ApplyLabel, RemoveLabel)))
    return frozenset(one for one in found if one not in SYSTEM_LABELS)


def forwarded_to(rules: Iterable[WrittenRule]) -> frozenset[str]:
    """The addresses to which rules forward mail."""
    actions = (one for rule in rules if isinstance(rule, Rule) for one in rule.decision.actions)
    return frozenset(to for one in actions if isinstance(one, Forward) for to in (*one.to, *one.cc))


def _labels_in(condition: Condition) -> Iterator[str]:
    """Bounded by a rule's depth."""
    for _, part in condition.parts():
        match part:
            case Label():
                yield part.root
            case Not():
                yield from _labels_in(part.root)
            case All() | AnyOf():
                for one in part.root:
                    yield from _labels_in(one)

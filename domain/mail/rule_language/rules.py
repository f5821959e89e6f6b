"""The user's own rules: saved once checked, then evaluated by priority without a model (triage, tier 2)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from domain.documents.language import AS_TEXT, Words
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.mail.actions.kinds import SENDING
from domain.mail.actions.requested_action import RequestedAction
from domain.mail.invalid_fields import invalid_from
from domain.mail.rule_language.conditions import Condition, bounded
from domain.mail.rule_language.rule_work import MOST_WORK, work_of
from domain.mail.rule_language.values import Text, context_of
from domain.mail.rule_language.written_actions import WrittenAction
from domain.mail.triage.automation import Automation
from domain.mail.triage.classification import (
    LONGEST_RATIONALE,
    MODEL_CLASSES,
    Classification,
    Decision,
    DecisionSource,
    decide_by_automation,
    respect_automation,
)
from domain.mail.triage.mail_facts import MailFacts
from domain.orgs.privacy.secrets import looks_secret

UNSAVED = "unsaved"
"""The id of a rule that has none yet."""
LONGEST_NAME = 200
MOST_ACTIONS = 20
MOST_PROFILES_LISTED = 20
"""In a refusal: whoever has more knows how to list them."""
TOO_COSTLY = "it would cost more than is left for the rules of one message: the text is long, or the patterns are large"
_OTHER_TIERS_WORDS = 400
"""Characters that are kept of another tier's rationale, so that the rules' names still fit."""
_CLASSES = [str(one) for one in MODEL_CLASSES]
AGENT = "agent:"


def _class(value: object) -> object:
    if not isinstance(value, str) or value not in _CLASSES:
        raise ValueError(f"must be one of {', '.join(_CLASSES)}")
    return value


def _route(route: str, info: ValidationInfo) -> str:
    context, name = context_of(info), route.removeprefix(AGENT)
    if context is not None and context.profiles is not None and name not in context.profiles:
        listed = ", ".join(sorted(context.profiles)[:MOST_PROFILES_LISTED])
        known = f"known are {listed}" if listed else "there is none"
        raise ValueError(f"names no agent's profile: {name[:60]!r}; {known}")
    return route


def _name(name: str, info: ValidationInfo) -> str:
    if context_of(info) is not None and looks_secret(name):
        raise ValueError("looks like a secret: the audit log shows names")
    return name


Class = Annotated[Classification, BeforeValidator(_class), WithJsonSchema({"enum": _CLASSES})]
Route = Annotated[str, StringConstraints(pattern=r"^agent:[a-z0-9][a-z0-9_-]{0,62}$"), AfterValidator(_route)]
"""Who takes the message over: `agent:` and the name of an agent's profile."""
Name = Annotated[str, Field(max_length=LONGEST_NAME), AS_TEXT, AfterValidator(_name)]


class RuleDecision(Words):
    """What a rule decides: a class, actions, a route, or several. Without a class the later tiers still classify."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": [word]} for word in ("class", "actions", "route")]}
    )

    classification: Class | None = Field(None, alias="class")
    needs_reply: StrictBool = False
    actions: Annotated[tuple[WrittenAction, ...], Field(max_length=MOST_ACTIONS)] = ()
    route: Route | None = None

    @model_validator(mode="after")
    def _decides_something(self) -> Self:
        if self.classification is None and not self.actions and self.route is None:
            raise ValueError("decides nothing: give a class, an action or a route")
        if self.needs_reply and self.classification is not Classification.NEEDS_RESPONSE:
            raise ValueError("needs_reply goes with the class needs_response")
        return self


class WhenRule(Words):
    """A rule with conditions, as it is written."""

    name: Name
    enabled: StrictBool = True
    priority: Annotated[StrictInt, Field(ge=0, le=10_000)] = 100
    condition: Annotated[Condition, BeforeValidator(bounded)] = Field(alias="when")
    decision: RuleDecision = Field(alias="then")
    stop: StrictBool = True


class Rule(WhenRule):
    """One rule. The lowest priority comes first; `stop` ends the evaluation when the rule matched."""

    rule_id: Text = UNSAVED
    scope: Literal["account", "org"] = "account"
    disabled_reason: Annotated[str, StringConstraints(max_length=300)] | None = None

    @classmethod
    def of(cls, written: WhenRule) -> "Rule":
        """A rule that somebody wrote, and that is not saved."""
        return cls.model_validate({WhenRule.words[name]: value for name, value in written})

    @property
    def document(self) -> JsonObject:
        """The rule as it is written; what is usual is left out."""
        return self.model_dump(mode="json", exclude_defaults=True, include=set(WhenRule.model_fields))

    @property
    def sends(self) -> bool:
        """Whether mail would leave because of this rule."""
        return any(action.kind in SENDING for action in self.decision.actions)


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """What the matching rules decided together: the first class and the first route win, actions add up in order."""

    rule_ids: tuple[str, ...]
    classification: Classification | None
    needs_reply: bool
    actions: tuple[RequestedAction, ...]
    route: str | None = None

    @property
    def agent(self) -> str | None:
        """The name of the agent's profile that the message is routed to, if a rule routes it."""
        return None if self.route is None else self.route.removeprefix(AGENT)

    def decision(self) -> Decision | None:
        """The match as a decision, as sure as can be; None when no rule gave a class."""
        if self.classification is None:
            return None
        rationale = f"rule {', '.join(self.rule_ids)}"[:600]
        return Decision(
            source=DecisionSource.DETERMINISTIC,
            classification=self.classification,
            confidence=1.0,
            rationale=rationale,
            needs_reply=self.needs_reply,
            actions=self.actions,
        )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The match, if any, and the rules that could not be asked, each with the reason."""

    match: RuleMatch | None
    skipped: tuple[tuple[str, str], ...]


def parse_rule(data: Any) -> Rule:  # noqa: ANN401 -- whatever the HTTP API or the database hands in
    """A rule from JSON-like data, no pattern compiled; raises `Invalid(field, reason)`."""
    try:
        return Rule.model_validate(data)
    except ValidationError as error:
        raise invalid_from(error, "rule") from error


def evaluate_all(rules: Iterable[Rule], facts: MailFacts) -> Evaluation:
    """What the enabled rules decide, by priority; at the same priority an account's rule goes before its org's.

    A rule is skipped when it would cost more than is left for the message, when a pattern of it is of no use, or when
    it sends mail and the sender is not proven.
    """
    matched: list[Rule] = []
    skipped: list[tuple[str, str]] = []
    left = MOST_WORK
    for rule in sorted(rules, key=_order):
        if not rule.enabled:
            continue
        try:
            work = work_of(rule.condition, facts)
            if work > left:
                skipped.append((rule.rule_id, TOO_COSTLY))
                continue
            left -= work
            matches = rule.condition.matches(facts)
        except Invalid as refused:
            skipped.append((rule.rule_id, f"a pattern {refused.reason.partition(': ')[2]}"))
            continue
        if matches and rule.sends and not facts.message.dmarc_passed(facts.trusted_hosts):
            skipped.append((rule.rule_id, "it sends mail, and the sender is not proven (DMARC)"))
            continue
        if matches:
            matched.append(rule)
            if rule.stop:
                break
    return Evaluation(_merge(matched), tuple(skipped))


def decide_without_model(automation: Automation, match: RuleMatch | None) -> Decision | None:
    """The decision of the first two tiers; None where only the model can decide."""
    return decide_by_automation(automation) or (match.decision() if match else None)


def complete(decision: Decision, match: RuleMatch | None, automation: Automation) -> Decision:
    """Any tier's decision with the actions of the rules that matched, and without a reply where none is allowed.

    The rationale says whose the actions are.
    """
    if match and match.actions and not decision.actions:
        rationale = f"{decision.rationale[:_OTHER_TIERS_WORDS]} Actions by rule {', '.join(match.rule_ids)}."
        decision = replace(decision, actions=match.actions, rationale=rationale[:LONGEST_RATIONALE])
    return respect_automation(decision, automation)


def _order(rule: Rule) -> tuple[int, bool, str]:
    return rule.priority, rule.scope == "org", rule.rule_id


def _merge(matched: list[Rule]) -> RuleMatch | None:
    if not matched:
        return None
    deciding = next((rule.decision for rule in matched if rule.decision.classification is not None), None)
    return RuleMatch(
        rule_ids=tuple(rule.rule_id for rule in matched),
        classification=deciding.classification if deciding else None,
        needs_reply=deciding.needs_reply if deciding else False,
        actions=tuple(dict.fromkeys(action for rule in matched for action in rule.decision.actions)),
        route=next((rule.decision.route for rule in matched if rule.decision.route is not None), None),
    )

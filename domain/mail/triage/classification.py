"""What a message asks of its reader, how that was decided, and which answers of a model are believed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.label_actions import ApplyLabel
from domain.mail.actions.requested_action import RequestedAction, parse_action
from domain.mail.invalid_fields import invalid_from
from domain.mail.triage.automation import Automation, replies_allowed
from domain.mail.triage.automation_signals import AutomationKind, Weight

Value = TypeVar("Value")

LONGEST_RATIONALE = 600
MOST_LABELS = 5
REVIEW_BELOW = 0.5
"""A model less sure than this is as good as undecided: a person looks, and nothing is drafted."""


class Classification(StrEnum):
    """What the reader has to do, one class per message; only `needs_response` leads to a draft."""

    NEEDS_RESPONSE = "needs_response"
    ACTION_REQUIRED = "action_required"
    """Something other than writing back: pay, sign, go somewhere."""
    FYI = "fyi"
    NEWSLETTER = "newsletter"
    NOTIFICATION = "notification"
    """Receipts, alerts, bounces, automatic replies."""
    CALENDAR = "calendar"
    SUSPICIOUS = "suspicious"
    """Spam, fraud, or mail that tries to instruct the reader's machine."""
    NEEDS_REVIEW = "needs_review"
    """Nobody decided: the model's answer was refused, or there was none. Never offered to the model."""


MODEL_CLASSES = tuple(one for one in Classification if one is not Classification.NEEDS_REVIEW)
_CLASSES_BY_NAME = {one.value: one for one in MODEL_CLASSES}
OFFERED_ACTIONS: tuple[ActionKind, ...] = (ActionKind.ARCHIVE, ActionKind.MARK_READ, ActionKind.STAR)
"""What a model may ask for by default; nothing that takes a parameter, and nothing that sends or destroys."""


class DecisionSource(StrEnum):
    """Who decided. Automation rules and the user's own rules are both deterministic."""

    DETERMINISTIC = "deterministic"
    LLM = "llm"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about one message. `confidence` is 0 to 1; `labels` are ids of labels that can be put on."""

    source: DecisionSource
    classification: Classification
    confidence: float
    rationale: str
    needs_reply: bool = False
    needs_review: bool = False
    caution: bool = False
    """The model's own flag. It may only add caution (domain/mail/triage/safety.py)."""
    labels: tuple[str, ...] = ()
    actions: tuple[RequestedAction, ...] = ()

    @property
    def asked(self) -> tuple[RequestedAction, ...]:
        """The actions, and one for each label that is to be put on, none twice."""
        return tuple(dict.fromkeys((*self.actions, *(ApplyLabel(label_id=one) for one in self.labels))))

    @property
    def is_undecided(self) -> bool:
        """Whether models were asked and none gave an answer to use."""
        return self.source is DecisionSource.LLM and self.classification is Classification.NEEDS_REVIEW

    @property
    def wants_draft(self) -> bool:
        """Whether a reply is to be drafted."""
        return self.classification is Classification.NEEDS_RESPONSE and self.needs_reply and not self.needs_review


class _Answer(BaseModel):
    """A model's answer, as its tool's schema asks for it; a field more is a refusal."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    classification: str
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    rationale: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_RATIONALE)]
    needs_reply: bool
    caution: bool
    labels: Annotated[list[str], Field(max_length=MOST_LABELS)] = []
    actions: Annotated[list[str], Field(max_length=len(ActionKind))] = []


def accept_answer(
    arguments: Mapping[str, object],
    known_labels: Mapping[str, str],
    offered_actions: Collection[ActionKind] = OFFERED_ACTIONS,
) -> Decision:
    """A decision from a model's tool call, or `Invalid(field, reason)`.

    `known_labels` maps label names to ids. The mail may have talked the model into anything, so only what was offered
    exists: no field names a recipient, a tool or another action. A refusal is answered with `needs_review(reason)`.
    """
    try:
        answer = _Answer.model_validate(dict(arguments))
    except ValidationError as error:
        raise invalid_from(error, "answer") from error
    classification = _offered("classification", answer.classification, _CLASSES_BY_NAME)
    if classification is Classification.NEEDS_RESPONSE and not answer.needs_reply:
        raise Invalid("needs_reply", "contradicts the classification needs_response")
    kinds = {kind.value: kind for kind in offered_actions}
    actions = [_offered("actions", name, kinds) for name in answer.actions]
    return Decision(
        source=DecisionSource.LLM,
        classification=classification,
        confidence=answer.confidence,
        rationale=clean_text(answer.rationale),
        needs_reply=answer.needs_reply,
        needs_review=answer.confidence < REVIEW_BELOW,
        caution=answer.caution,
        labels=tuple(dict.fromkeys(_offered("labels", name, known_labels) for name in answer.labels)),
        actions=tuple(parse_action({"kind": kind}) for kind in dict.fromkeys(actions)),
    )


def needs_review(reason: str, source: DecisionSource = DecisionSource.LLM) -> Decision:
    """The decision when there is none: a person looks."""
    return Decision(source, Classification.NEEDS_REVIEW, 0.0, clean_text(reason)[:LONGEST_RATIONALE], needs_review=True)


_BY_AUTOMATION = {
    AutomationKind.BOUNCE: Classification.NOTIFICATION,
    AutomationKind.AUTO_REPLY: Classification.NOTIFICATION,
    AutomationKind.SELF: Classification.FYI,
    AutomationKind.CALENDAR: Classification.CALENDAR,
    AutomationKind.BULK: Classification.NEWSLETTER,
    AutomationKind.AUTOMATED: Classification.NOTIFICATION,
}
_CONFIDENCE = {Weight.CERTAIN: 1.0, Weight.STRONG: 0.95, Weight.CLASS: 0.9}


def decide_by_automation(automation: Automation) -> Decision | None:
    """Tier 1: what the way a mail was made already decides; None where only its text can tell.

    Mail of people and of lists goes on, and so does what only looks automated (weight medium): a payment that
    failed comes from a no-reply address too.
    """
    classification = _BY_AUTOMATION.get(automation.kind)
    confidence = _CONFIDENCE.get(automation.weight)
    if classification is None or confidence is None:
        return None
    rationale = f"automated mail ({automation.kind}): {', '.join(automation.evidence[:5])}"
    return Decision(DecisionSource.DETERMINISTIC, classification, confidence, rationale[:LONGEST_RATIONALE])


def respect_automation(decision: Decision, automation: Automation) -> Decision:
    """The decision without a wish to reply where replies are forbidden; every path passes here."""
    if replies_allowed(automation) or not decision.needs_reply:
        return decision
    classification = decision.classification
    if classification is Classification.NEEDS_RESPONSE:
        classification = Classification.ACTION_REQUIRED
    return replace(decision, classification=classification, needs_reply=False)


def _offered(field: str, name: str, offered: Mapping[str, Value]) -> Value:
    if name not in offered:
        raise Invalid(field, "names something that was not offered")
    return offered[name]

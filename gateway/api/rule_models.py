"""What the routes about rules answer with."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from domain.mail.rule_language.trial import RuleTrial
from storage.rules.kept_rules import KeptRule


class AddedRule(BaseModel):
    """A rule that was saved."""

    rule_id: UUID
    name: str


class AddedRules(BaseModel):
    """The rules that were saved, in their order."""

    rules: list[AddedRule]


class RuleView(BaseModel):
    """A rule of the org."""

    rule_id: UUID
    kind: Literal["when", "tell"] = Field(description="`when`: by conditions; `tell`: in words, for the model.")
    account_id: UUID | None = Field(description="The mailbox it is for; null for all of the org's.")
    name: str
    enabled: bool
    why_off: str | None = Field(description="Why it is off: a person's reason, or the label that vanished.")
    broken: str | None = Field(description="Why it cannot be read, and is passed over; null for a rule that can.")
    rule: dict[str, Any] | None = Field(description="The rule as it is written; null for a broken one.")
    created_at: datetime
    updated_at: datetime


class RuleList(BaseModel):
    """The rules that were asked for: those with conditions first, by priority."""

    rules: list[RuleView]


class TriedAction(BaseModel):
    """An action that a rule would have asked for, with the verdict of the safety policy."""

    kind: str
    status: str = Field(description="`queued`: done at once; `approved_pending`: a person is asked first.")
    danger: str
    reasons: list[str] = Field(description="Why a person is asked.")


class TriedLine(BaseModel):
    """A past message, and what the rule would have done with it."""

    message_id: str
    thread_id: str
    received_at: datetime
    sender: str
    subject: str
    matched: bool = Field(description="Whether the rule's conditions hold.")
    acts: bool = Field(description="Whether the rule has a say: another may come first and stop.")
    reason: str = Field(description="Why it does not match, or has no say.")
    classification: str | None = Field(description="The class the message would get; null where the model decides.")
    actions: list[TriedAction]
    route: str | None
    note: str = Field(description="What else is to be said, as that automated mail is never replied to.")


class RuleTrialView(BaseModel):
    """What a rule would have done with past mail. Nothing was done."""

    name: str
    examined: int = Field(description="Messages that were tried: the latest 200 that came in, at the most.")
    matched: int
    complete: bool = Field(description="False when the time was over before the mail: a pattern is slow.")
    messages: list[TriedLine] = Field(description="The messages that match, the latest first; with `all`, all of them.")


class Removed(BaseModel):
    """What was removed."""

    removed: bool = Field(description="False when there was nothing to remove.")


def rule_view(kept: KeptRule) -> RuleView:
    """A stored rule as the API shows it."""
    return RuleView(
        rule_id=kept.rule_id,
        kind=kept.kind,
        account_id=kept.account_id,
        name=kept.name,
        enabled=kept.enabled,
        why_off=kept.disabled_reason,
        broken=kept.broken,
        rule=None if kept.document is None else dict(kept.document),
        created_at=kept.created_at,
        updated_at=kept.updated_at,
    )


def trial_view(name: str, trial: RuleTrial, *, show_all: bool) -> RuleTrialView:
    """A trial as the API shows it."""
    return RuleTrialView(
        name=name,
        examined=trial.examined,
        matched=trial.matched,
        complete=trial.complete,
        messages=[TriedLine(**one) for one in trial.shown(show_all=show_all)],
    )

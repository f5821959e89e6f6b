"""What the routes that try rules answer with."""

from datetime import datetime

from pydantic import BaseModel, Field

from domain.mail.rule_language.trial import RuleTrial


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
    complete: bool = Field(description="False when the time was over before the mail: patterns are large.")
    messages: list[TriedLine] = Field(description="The messages that match, the latest first; with `all`, all of them.")


def trial_view(name: str, trial: RuleTrial, *, show_all: bool) -> RuleTrialView:
    """A trial as the API shows it."""
    return RuleTrialView(
        name=name,
        examined=trial.examined,
        matched=trial.matched,
        complete=trial.complete,
        messages=[TriedLine(**one) for one in trial.shown(show_all=show_all)],
    )

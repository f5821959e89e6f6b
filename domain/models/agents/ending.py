"""What the end of a run does: the decision about its message, the actions it asked for, and what comes next."""

from dataclasses import dataclass

from domain.clean_text import clean_text
from domain.mail.actions.requested_action import RequestedAction, parse_action
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import DRAFT_OUT, EmailState, LabelPlan, LabelRole
from domain.mail.thread_plan import DEFAULT_SAFETY, ThreadBefore, ThreadPlan
from domain.mail.triage.classification import LONGEST_RATIONALE, Classification, Decision, DecisionSource
from domain.mail.triage.safety import CheckedAction, SafetyEnforcer
from domain.models.agents.loop import Finish, RunStatus
from domain.models.agents.transcript import CALLED, ModelTurn, results_of
from domain.orgs.privacy.redaction import redact_text

LONGEST_PREVIEW = 500
"""Of what the agent said last, in characters, for the list of runs."""
LONGEST_OUTPUT = 5_000
"""Of the answer of a run that was asked for, in characters, as the output of its job (docs: seeds.md#003-64)."""
CONFIDENCE = 0.75
"""An agent says no confidence. Above the floor of the default policy, so that a run that ended well waits only for what
waits by its danger; a run that did not end well asks for caution anyway."""
_CLASSES = {
    RunStatus.ESCALATED: Classification.ACTION_REQUIRED,
    RunStatus.STOPPED: Classification.NEEDS_REVIEW,
    RunStatus.FAILED: Classification.NEEDS_REVIEW,
}


@dataclass(frozen=True, slots=True)
class Held:
    """A conversation that is over."""

    turns: tuple[ModelTurn, ...]
    finish: Finish

    @property
    def last_word(self) -> str:
        """Why a person was called, or else what the agent said last."""
        called = next((result.text for result in results_of(self.turns) if result.ends_run), None)
        if called is not None:
            return called.removeprefix(CALLED)
        return next((turn.answer.text for turn in reversed(self.turns) if turn.answer.text), "")

    @property
    def wanted(self) -> tuple[tuple[str, RequestedAction], ...]:
        """The actions that were asked for, each once, with the id of the message that it is about."""
        asked = [(one.about, parse_action(one.wanted)) for one in results_of(self.turns) if one.wanted and one.about]
        return tuple(dict.fromkeys(asked))


@dataclass(frozen=True, slots=True)
class Ending:
    """All that is written when a run ends."""

    preview: str
    decision: Decision
    actions: tuple[CheckedAction, ...]
    plan: ThreadPlan


def end_run(
    finish: Finish,
    said: str,
    *,
    before: ThreadBefore,
    wanted: tuple[RequestedAction, ...] = (),
    safety: SafetyEnforcer = DEFAULT_SAFETY,
) -> Ending:
    """Plan the end of a run. Only a run that ended by itself goes without a person; all others show Action Required.

    `said` is the agent's last word, or the reason why it called a person; `wanted` are the actions it asked for, which
    pass the `SafetyEnforcer` like all others.
    """
    ended_well = finish.status is RunStatus.SUCCEEDED
    answered = Classification.NEEDS_RESPONSE if before.state in DRAFT_OUT or wanted else Classification.FYI
    decision = Decision(
        source=DecisionSource.LLM,
        classification=_CLASSES.get(finish.status, answered),
        confidence=CONFIDENCE if ended_well else 0.0,
        rationale=clean_text(f"agent, {finish.status}: {finish.reason}. {said}")[:LONGEST_RATIONALE],
        needs_reply=ended_well and answered is Classification.NEEDS_RESPONSE,
        needs_review=not ended_well,
        caution=not ended_well,
        actions=wanted,
    )
    actions = safety.check(decision)
    return Ending(preview_of(said), decision, actions, _plan(finish, before, actions))


def preview_of(text: str) -> str:
    """What an agent said last, as the list of runs shows it."""
    return clean_text(text)[:LONGEST_PREVIEW]


def output_of(text: str) -> str:
    """What an agent said last, as the output of its job has it: without what looks like a secret."""
    return redact_text(clean_text(text), LONGEST_OUTPUT)[:LONGEST_OUTPUT]


def checked_call(action: RequestedAction, safety: SafetyEnforcer) -> CheckedAction:
    """An action that a call of an agent asks for, with every reason why it waits for a person."""
    decision = Decision(DecisionSource.LLM, Classification.FYI, CONFIDENCE, "an agent's call", actions=(action,))
    (checked,) = safety.check(decision)
    return checked


def waits_for_person(action: RequestedAction, safety: SafetyEnforcer) -> bool:
    """Whether a person is asked before an action that an agent would do at once; without one, it is done in the run."""
    return checked_call(action, safety).status is ActionStatus.APPROVED_PENDING


def _plan(finish: Finish, before: ThreadBefore, actions: tuple[CheckedAction, ...]) -> ThreadPlan:
    """A thread without a record gets one; one that waits for words is a person's when the agent gave up."""
    handed_over = finish.status is not RunStatus.SUCCEEDED
    record = None
    if before.state is None or (handed_over and before.state is EmailState.PENDING):
        record = EmailState.SKIPPED
    labels = LabelPlan()
    if handed_over:
        remove = frozenset[LabelRole]() if before.state in DRAFT_OUT else frozenset({LabelRole.NEEDS_RESPONSE})
        labels = LabelPlan(add=frozenset({LabelRole.ACTION_REQUIRED}), remove=remove)
    return ThreadPlan(finish.reason, labels=labels, record=record, actions=actions)

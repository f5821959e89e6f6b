"""What a run does next, decided from what was said and what was used; pure (docs: agents.md#the-loop)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.models.agents.profile import RunLimits
from domain.models.agents.transcript import ModelTurn, ToolCall, cost_of

MOST_CALLS = 8
"""Calls of tools in one answer that are carried out; the vendor is asked for one at a time."""
GO_ON = "Your answer was cut off. Go on, briefly: one call of a tool, or a last word."
CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""What a `tool_use.id` looks like; it becomes part of the key of an effect."""


class RunStatus(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    """The model ended it."""
    ESCALATED = "escalated"
    """The model handed it to a person."""
    STOPPED = "stopped"
    """A limit ended it; `RunLimit` says which."""
    FAILED = "failed"
    """The model's answer was of no use, or the job failed."""


class RunLimit(StrEnum):
    """What a run can run out of."""

    TURNS = "turns"
    MONEY = "money"
    TIME = "time"
    CONTEXT = "context"
    """The model's own window."""
    CANCELED = "canceled"
    """The job was canceled, or expired."""


class StopReason(StrEnum):
    """The vendor's reasons why an answer ended, as far as a run knows what to do (docs: anthropic.md#answers)."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    PAUSE_TURN = "pause_turn"
    REFUSAL = "refusal"
    CONTEXT = "model_context_window_exceeded"


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What a run has used besides its turns."""

    seconds: float = 0.0
    """In which its attempts have worked; what it waits between them is none of its time."""
    answered: int = 0
    """Answers that earlier attempts have paid for; they are taken up before any limit is looked at."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model; `number` counts from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class RunTools:
    """Carry out these calls, in this order; `refused` ones are answered with an error and not carried out."""

    calls: tuple[ToolCall, ...]
    refused: tuple[ToolCall, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class GoOn:
    """The answer stopped half-way without a call: say this to the model."""

    note: str


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run."""

    status: RunStatus
    reason: str
    limit: RunLimit | None = None


NextStep = AskModel | RunTools | GoOn | Finish


def next_step(turns: Sequence[ModelTurn], limits: RunLimits, used: RunUsage) -> NextStep:
    """What a run does next. Every answer is dealt with before a limit is looked at: it has been paid for."""
    if not turns:
        return _ask(turns, limits, used)
    last = turns[-1]
    unsound = _unsound(turns)
    if unsound is not None:
        return Finish(RunStatus.FAILED, unsound)
    if any(result.ends_run for result in last.results):
        return Finish(RunStatus.ESCALATED, "the agent handed the thread to a person")
    return _after(last) or _ask(turns, limits, used)


def affords(turns: Sequence[ModelTurn], limits: RunLimits, most_microcents: int) -> bool:
    """Whether a run may make a call that costs at most so much."""
    return cost_of(turns) + most_microcents <= limits.microcents


NO_ANSWER = Finish(RunStatus.FAILED, "the model gave no answer")
OUT_OF_MONEY = Finish(RunStatus.STOPPED, "the next call could cost more than the run has left", RunLimit.MONEY)


def _ask(turns: Sequence[ModelTurn], limits: RunLimits, used: RunUsage) -> AskModel | Finish:
    if len(turns) < used.answered:
        return AskModel(len(turns) + 1)
    if len(turns) >= limits.turns:
        return Finish(RunStatus.STOPPED, f"{limits.turns} calls of the model are used up", RunLimit.TURNS)
    if used.seconds >= limits.seconds:
        return Finish(RunStatus.STOPPED, f"{limits.seconds} seconds are over", RunLimit.TIME)
    if cost_of(turns) >= limits.microcents:
        return OUT_OF_MONEY
    return AskModel(len(turns) + 1)


def _after(last: ModelTurn) -> RunTools | GoOn | Finish | None:
    """What the last answer asks for; None when it has been dealt with and the model is to be asked again."""
    answer = last.answer
    match answer.stop_reason:
        case StopReason.END_TURN:
            # The orders ask for a last word. Without one, nobody can tell a run that is done from one that gave up.
            return Finish(RunStatus.SUCCEEDED, "the agent is done") if answer.text.strip() else NO_ANSWER
        case StopReason.TOOL_USE:
            return _tools(last)
        case StopReason.MAX_TOKENS | StopReason.PAUSE_TURN:
            return _cut(last)
        case StopReason.REFUSAL:
            return Finish(RunStatus.FAILED, "the model refused to answer")
        case StopReason.CONTEXT:
            return Finish(RunStatus.STOPPED, "the model's window is full", RunLimit.CONTEXT)
        case _:
            return Finish(RunStatus.FAILED, "the model stopped for a reason that nobody knows")


def _tools(last: ModelTurn) -> RunTools | Finish | None:
    if not last.answer.calls:
        return Finish(RunStatus.FAILED, "the model said that it calls a tool, and called none")
    if not last.pending:
        return None
    allowed = last.answer.calls[:MOST_CALLS]
    return RunTools(
        calls=tuple(call for call in last.pending if call in allowed),
        refused=tuple(call for call in last.pending if call not in allowed),
        why=f"more than {MOST_CALLS} calls at once",
    )


def _cut(last: ModelTurn) -> RunTools | GoOn | Finish | None:
    """An answer that was cut off: its calls may lack arguments, so none of them is carried out."""
    if last.pending:
        return RunTools((), last.pending, "the answer was cut off before the call was complete")
    if last.answer.calls or last.note:
        return None
    return GoOn(GO_ON) if last.answer.content else NO_ANSWER


def _unsound(turns: Sequence[ModelTurn]) -> str | None:
    """Why the calls cannot be told apart; each is carried out once by its id."""
    ids = [call.call_id for turn in turns for call in turn.answer.calls]
    if not all(CALL_ID.fullmatch(one) for one in ids):
        return "a call has an id of an odd shape"
    return "two calls have the same id" if len(set(ids)) < len(ids) else None

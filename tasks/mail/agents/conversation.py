"""Holds an agent's conversation: each answer and result is kept before the next call (docs: agents.md#the-loop)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import UUID

from domain.agents.loop import (
    OUT_OF_MONEY,
    AskModel,
    Finish,
    GoOn,
    RunStatus,
    RunTools,
    RunUsage,
    affords,
    next_step,
)
from domain.agents.profile import AgentProfile
from domain.agents.prompt import FirstTurn
from domain.agents.tools import Offer
from domain.agents.transcript import Answer, ToolCall, ToolResult, Turn, read_answer
from domain.jobs.failures import Failure, Invalid, Permanent
from engine.beside_failure import beside_failure
from engine.context import JobContext
from providers.ports.conversation import ConversationRequest, Tool
from storage.agents import runs
from storage.agents.runs import BegunRun
from tasks.mail.language_model import MOST_TOKENS, converse, most_of_turn

CALLED = "The owner is told: "
"""How the result of a call begins that hands the run to a person; the rest is why."""

CarryOut = Callable[[ToolCall, Sequence[ToolResult]], ToolResult]
"""Does what a call asks for; gets the run's results so far."""


@dataclass(frozen=True, slots=True)
class Script:
    """What a conversation is held with; the same in each attempt of the job."""

    account_id: UUID | None
    profile: AgentProfile
    offer: Offer
    opening: FirstTurn

    def request(self, turns: Sequence[Turn]) -> ConversationRequest:
        """The next call."""
        tools = tuple(Tool(**spec) for spec in self.offer.specs())
        return ConversationRequest(
            model=self.profile.model,
            system=self.opening.system,
            tools=tools,
            opening=self.opening.text,
            turns=tuple(turns),
            max_tokens=MOST_TOKENS,
        )


@contextmanager
def counted(ctx: JobContext, run: BegunRun) -> Iterator[None]:
    """Keep how long the attempt has worked when it fails: another may follow, whenever that is."""
    began_at = ctx.now()
    try:
        yield
    except Failure:
        with beside_failure("worked"), ctx.tx() as tx:
            runs.record_work(tx, run.run_id, run.worked + (ctx.now() - began_at))
        raise


def hold(ctx: JobContext, script: Script, run: BegunRun, carry_out: CarryOut) -> tuple[tuple[Turn, ...], Finish]:
    """Take turns until the run ends by the model's word or by a limit.

    An attempt after a crash takes up the kept answers and results, pays for none anew and does nothing twice.
    """
    began_at = ctx.now() - run.worked
    kept = _kept_answers(ctx, script) if run.may_have_answers else ()
    turns: list[Turn] = []
    while True:
        used = RunUsage((ctx.now() - began_at).total_seconds(), len(kept))
        match next_step(turns, script.profile.limits, used):
            case Finish() as finish:
                return tuple(turns), finish
            case AskModel(number=number) if number <= len(kept):
                turns.append(Turn(kept[number - 1]))
            case AskModel(number=number):
                answer = _ask(ctx, script, turns, number)
                if isinstance(answer, Finish):
                    return tuple(turns), answer
                turns.append(Turn(answer))
            case GoOn(note=note):
                turns[-1] = replace(turns[-1], note=note)
            case RunTools() as tools:
                _answer_calls(turns, tools, carry_out)


def results_of(turns: Sequence[Turn]) -> tuple[ToolResult, ...]:
    """All results of a run, in order."""
    return tuple(result for turn in turns for result in turn.results)


def last_word(turns: Sequence[Turn]) -> str:
    """Why a person was called, or else what the agent said last."""
    called = next((result.text for result in results_of(turns) if result.ends_run), None)
    if called is not None:
        return called.removeprefix(CALLED)
    return next((turn.answer.text for turn in reversed(turns) if turn.answer.text), "")


def _answer_calls(turns: list[Turn], tools: RunTools, carry_out: CarryOut) -> None:
    """Answer the calls of the last turn, in order; a result is there for each, or the vendor refuses the next call."""
    refused = {call.call_id for call in tools.refused}
    for call in turns[-1].pending:
        if call.call_id in refused:
            result = ToolResult(call.call_id, f"Refused. {tools.why}", is_error=True)
        else:
            result = carry_out(call, results_of(turns))
        turns[-1] = replace(turns[-1], results=(*turns[-1].results, result))


def _ask(ctx: JobContext, script: Script, turns: Sequence[Turn], number: int) -> Answer | Finish:
    """Ask the model, unless the call could cost more than the run has left."""
    request = script.request(turns)
    limits = script.profile.limits
    try:
        most = most_of_turn(ctx, request, lambda most: affords(turns, limits, most))
        if most is None:
            return OUT_OF_MONEY
        kept = converse(ctx, script.account_id, _step(number), request, most)
    except Invalid as refusal:
        ctx.log.warning("agent_answer_not_kept", field=refusal.field, reason=refusal.reason)
        return Finish(RunStatus.FAILED, "the model's answer holds what cannot be kept")
    except Permanent as refusal:
        # Trying again cannot help, and a person should see the thread.
        ctx.log.warning("agent_call_failed", code=refusal.code, reason=refusal.reason)
        return Finish(RunStatus.FAILED, f"the call of the model failed ({refusal.code})")
    return read_answer(kept)


def _kept_answers(ctx: JobContext, script: Script) -> tuple[Answer, ...]:
    """The answers that earlier attempts have paid for."""
    answers: list[Answer] = []
    for number in range(1, script.profile.limits.turns + 1):
        kept = ctx.kept(_step(number))
        if kept is None:
            break
        answers.append(read_answer(kept))
    return tuple(answers)


def _step(number: int) -> str:
    return f"agent_turn.{number}"

"""Holds the conversation of a run: each answer and result is kept before the next call (docs: agents.md#the-loop)."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from domain.jobs.failures import Failure, Invalid, Permanent
from domain.jobs.job import Outcome
from domain.models.agents.ending import Held
from domain.models.agents.loop import (
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
from domain.models.agents.transcript import ModelTurn, ToolResult, TurnAnswer, read_answer, results_of
from engine.beside_failure import beside_failure
from engine.context import JobContext
from providers.ports.language_model import ConversationRequest, Tool
from storage.models.agents import runs
from tasks.mail.steps.language_model import MOST_TOKENS, converse, most_of_turn
from tasks.models.agent_steps.run import AgentRun, Opening
from tasks.models.agent_steps.tools import Tools


def carry_through(ctx: JobContext, run: AgentRun) -> Outcome:
    """Hold the conversation of a run and end the run.

    An attempt that fails keeps how long it has worked: another may follow, whenever that is.
    """
    try:
        opening = Opening(**ctx.step("agent_opening", lambda: asdict(run.opening)))
        held = _hold(ctx, run, opening, Tools(ctx, run, opening))
        return run.end(ctx, run, held)
    except Failure:
        with beside_failure("worked"), ctx.tx() as tx:
            runs.record_work(tx, run.begun.run_id, run.begun.worked + (ctx.now() - ctx.began_at))
        raise


def _hold(ctx: JobContext, run: AgentRun, opening: Opening, toolbox: Tools) -> Held:
    """Take turns until the run ends by the model's word or by a limit.

    An attempt after a crash takes up the kept answers and results, pays for none anew and does nothing twice.
    """
    began_at = ctx.began_at - run.begun.worked
    kept = _kept_answers(ctx, run) if run.begun.may_have_answers else ()
    turns: list[ModelTurn] = []
    while True:
        used = RunUsage((ctx.now() - began_at).total_seconds(), len(kept))
        match next_step(turns, run.profile.limits, used):
            case Finish() as finish:
                return Held(tuple(turns), finish)
            case AskModel(number=number) if number <= len(kept):
                turns.append(ModelTurn(kept[number - 1]))
            case AskModel(number=number):
                answer = _ask(ctx, run, opening, turns)
                if isinstance(answer, Finish):
                    return Held(tuple(turns), answer)
                turns.append(ModelTurn(answer))
            case GoOn(note=note):
                turns[-1] = replace(turns[-1], note=note)
            case RunTools() as tools:
                _answer_calls(turns, tools, toolbox)


def _answer_calls(turns: list[ModelTurn], tools: RunTools, toolbox: Tools) -> None:
    """Answer the calls of the last turn, in order; a result is there for each, or the vendor refuses the next call."""
    refused = {call.call_id for call in tools.refused}
    for call in turns[-1].pending:
        if call.call_id in refused:
            result = ToolResult(call.call_id, f"Refused. {tools.why}", is_error=True)
        else:
            result = toolbox.carry_out(call, results_of(turns))
        turns[-1] = replace(turns[-1], results=(*turns[-1].results, result))


def _ask(ctx: JobContext, run: AgentRun, opening: Opening, turns: Sequence[ModelTurn]) -> TurnAnswer | Finish:
    """Ask the model, unless the call could cost more than the run has left."""
    request = ConversationRequest(
        model=run.profile.model,
        system=opening.system,
        tools=tuple(Tool(**spec) for spec in run.offer.specs()),
        opening=opening.text,
        turns=tuple(turns),
        max_tokens=MOST_TOKENS,
    )
    account_id = None if run.mailbox is None else run.mailbox.account.account_id
    try:
        most = most_of_turn(ctx, request, lambda most: affords(turns, run.profile.limits, most))
        if most is None:
            return OUT_OF_MONEY
        kept = converse(ctx, account_id, _step(len(turns) + 1), request, most)
    except Invalid as refusal:
        ctx.log.warning("agent_answer_not_kept", field=refusal.field, reason=refusal.reason)
        return Finish(RunStatus.FAILED, "the model's answer holds what cannot be kept")
    except Permanent as refusal:
        # Trying again cannot help, and a person should see the thread.
        ctx.log.warning("agent_call_failed", code=refusal.code, reason=refusal.reason)
        return Finish(RunStatus.FAILED, f"the call of the model failed ({refusal.code})")
    return read_answer(kept)


def _kept_answers(ctx: JobContext, run: AgentRun) -> tuple[TurnAnswer, ...]:
    """The answers that earlier attempts have paid for."""
    answers: list[TurnAnswer] = []
    for number in range(1, run.profile.limits.turns + 1):
        kept = ctx.kept(_step(number))
        if kept is None:
            break
        answers.append(read_answer(kept))
    return tuple(answers)


def _step(number: int) -> str:
    return f"agent_turn.{number}"

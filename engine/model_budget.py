"""The one way to ask the language model: money is set aside before the call and settled after it, per org and day."""

from dataclasses import asdict
from uuid import UUID

from domain.jobs.failures import CallState, ClaimLost, Failure, Invalid, OverBudget
from domain.jobs.job import JsonObject
from domain.payloads.budgets import AlertPayload
from engine.catalogue import catalogue
from engine.context import JobContext
from engine.interrupts import Canceled
from engine.process.database_away import retry_while_away
from providers.anthropic.models import PROVIDER
from providers.ports import ModelAnswer, ModelRequest
from storage.ledger import audit, effects
from storage.money import model_calls, spending
from storage.money.model_calls import ModelCall
from storage.money.spending import Refusal, Reserved
from storage.postgres.database import Transaction

MOST_TRIES = 5
"""How often money may turn up between the refusal and the look at the org's day before the job goes round the queue."""


def ask_model(ctx: JobContext, purpose: str, request: ModelRequest, *, account_id: UUID | None = None) -> JsonObject:
    """Make one call per job and purpose that the job's org can pay for; a later attempt gets the kept answer.

    Returns `arguments` (those of the tool call, or None), `stop_reason` and `cost` in microcents. The cost is booked
    whatever becomes of the claim or the answer; with an account the call is listed among its model calls.

    Raises `OverBudget` after closing the org's gate at the provider: no attempt is used, the org's other jobs that need
    the model stay queued, and the operator is notified once a day. Raises what the call raises; one that may have been
    billed without an answer is charged in full.
    """
    _need_declaration(ctx)
    ctx.need_to_run()
    model = ctx.runtime.model
    most = model.most_microcents(request)
    reserved = _reserve(ctx, purpose, most)
    if reserved.reservation_id is None:
        return reserved.kept or {}
    try:
        answer = model.ask(request)
    except Failure as failure:
        _charge(ctx, reserved.reservation_id, 0 if failure.call_state is CallState.NOT_DONE else most)
        raise
    return _keep(ctx, reserved.reservation_id, purpose, answer, account_id)


def _need_declaration(ctx: JobContext) -> None:
    """A job type that does not name the provider is kept back by no gate: without money it would never come to rest."""
    found = catalogue.find(ctx.job.job_type)
    if found is None or PROVIDER not in found.providers:
        raise ValueError(f"{ctx.job.job_type} asks the model and does not name {PROVIDER} in its providers")


def _reserve(ctx: JobContext, purpose: str, most: int) -> Reserved:
    """Money for the call, or the answer of an earlier attempt; one statement while the org has money."""
    default_daily = ctx.runtime.settings.daily_budget_microcents
    for _ in range(MOST_TRIES):
        with ctx.runtime.database.statements() as tx:
            reserved = spending.reserve(tx, ctx.job, most, default_daily=default_daily, step=purpose)
        if reserved.cancel_reason is not None:
            raise Canceled(reserved.cancel_reason)
        if reserved.reservation_id is not None or reserved.kept is not None:
            return reserved
        refusal = _refuse(ctx, most, default_daily)
        if refusal is not None:
            raise OverBudget(_reason(refusal))
    raise OverBudget("the org's budget moves too fast")


def _keep(
    ctx: JobContext, reservation_id: UUID, purpose: str, answer: ModelAnswer, account_id: UUID | None
) -> JsonObject:
    """Book the cost, list the call and keep the answer in one transaction.

    The cost stays booked when the answer cannot be kept, because the claim is lost or the answer is not storable.
    """
    cost = answer.cost_microcents
    kept: JsonObject = {"arguments": answer.arguments, "stop_reason": answer.stop_reason, "cost": cost}
    ctx.cost_microcents += cost

    def book(tx: Transaction) -> None:
        spending.charge(tx, reservation_id, cost)
        if account_id is not None:
            model_calls.record(tx, ctx.org_id, account_id, _listed(ctx, purpose, answer))

    def write() -> ClaimLost | None:
        with ctx.runtime.database.ledger() as tx:
            book(tx)
            try:
                effects.save_step(tx, ctx.job, purpose, kept, cost)
            except ClaimLost as lost:
                return lost
        return None

    def only_book() -> None:
        with ctx.runtime.database.ledger() as tx:
            book(tx)

    # What it cost is known here and nowhere else: a database that is away is waited for.
    try:
        lost = retry_while_away(ctx.runtime, write)
    except Invalid:
        retry_while_away(ctx.runtime, only_book)
        raise
    if lost is not None:
        raise lost
    return kept


def _listed(ctx: JobContext, purpose: str, answer: ModelAnswer) -> ModelCall:
    return ModelCall(
        purpose=purpose,
        model=answer.model,
        stop_reason=answer.stop_reason,
        cost_microcents=answer.cost_microcents,
        request_id=answer.request_id,
        refusal=None if answer.arguments is not None else f"no answer: {answer.stop_reason}",
        job_id=ctx.job.job_id,
        **asdict(answer.usage),
    )


def _refuse(ctx: JobContext, most: int, default_daily: int) -> Refusal | None:
    """Close the gate, and audit the first refusal of a day, in one transaction."""
    with ctx.runtime.database.ledger() as tx:
        refusal = spending.refuse(tx, ctx.job, most, PROVIDER, default_daily=default_daily)
        if refusal is not None and refusal.first:
            budget = refusal.budget
            facts = {"day": refusal.day, "daily_microcents": budget.daily}
            audit.append(tx, ctx.job, "budget.exhausted", facts | {"spent_microcents": budget.spent})
            ctx.enqueue(tx, AlertPayload.model_validate(facts))
    return refusal


def _reason(refusal: Refusal) -> str:
    if refusal.parked:
        return f"the org's budget of {refusal.day} is spent"
    return "calls under way hold the rest of the org's budget"


def _charge(ctx: JobContext, reservation: UUID, cost_microcents: int) -> None:
    def write() -> None:
        with ctx.runtime.database.statements() as tx:
            spending.charge(tx, reservation, cost_microcents)

    # What it cost is known here and nowhere else: a database that is away is waited for.
    retry_while_away(ctx.runtime, write)

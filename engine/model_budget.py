"""The one way to ask the language model: money is set aside before the call and settled after it, per org and day."""

from uuid import UUID

from domain.jobs.failures import Deed, Failure, OverBudget
from domain.payloads.budgets import AlertPayload
from engine.catalogue import catalogue
from engine.context import JobContext
from engine.process.database_away import patiently
from providers.anthropic.models import PROVIDER
from providers.ports import ModelAnswer, ModelRequest
from storage.ledger import audit
from storage.money import spending
from storage.money.spending import Refusal

MOST_TRIES = 5
"""How often money may turn up between the refusal and the look at the org's day before the job goes round the queue."""


def ask_model(ctx: JobContext, request: ModelRequest) -> ModelAnswer:
    """Make one call that the job's org can pay for; costs are booked whatever becomes of the claim or the answer.

    Raises `OverBudget` after closing the org's gate at the provider: no attempt is used, the org's other jobs that need
    the model stay queued, and the operator is told once a day. Raises what the call raises; one that may have been
    billed without an answer is charged in full.
    """
    _need_declaration(ctx)
    model = ctx.runtime.model
    most = model.most_microcents(request)
    reservation = _reserve(ctx, most)
    try:
        answer = model.ask(request)
    except Failure as failure:
        _settle(ctx, reservation, 0 if failure.deed is Deed.NOT_DONE else most)
        raise
    _settle(ctx, reservation, answer.cost_microcents)
    return answer


def _need_declaration(ctx: JobContext) -> None:
    """A job type that does not name the provider is kept back by no gate: without money it would never come to rest."""
    found = catalogue.find(ctx.job.job_type)
    if found is None or PROVIDER not in found.providers:
        raise ValueError(f"{ctx.job.job_type} asks the model and does not name {PROVIDER} in its providers")


def _reserve(ctx: JobContext, most: int) -> UUID:
    default_daily = ctx.runtime.settings.daily_budget_microcents
    for _ in range(MOST_TRIES):
        with ctx.runtime.database.statements() as tx:
            reservation = spending.reserve(tx, ctx.job, most, default_daily=default_daily)
        if reservation is not None:
            return reservation
        refusal = _refuse(ctx, most, default_daily)
        if refusal is not None:
            raise OverBudget(_reason(refusal))
    raise OverBudget("the org's budget moves too fast")


def _refuse(ctx: JobContext, most: int, default_daily: int) -> Refusal | None:
    """Close the gate, and with the first refusal of a day tell of it, in one transaction."""
    with ctx.runtime.database.ledger() as tx:
        refusal = spending.refuse(tx, ctx.job, most, PROVIDER, default_daily=default_daily)
        if refusal is not None and refusal.first:
            purse = refusal.purse
            facts = {"day": refusal.day, "daily_microcents": purse.daily}
            audit.append(tx, ctx.job, "budget.exhausted", facts | {"spent_microcents": purse.spent})
            ctx.enqueue(tx, AlertPayload.model_validate(facts))
    return refusal


def _reason(refusal: Refusal) -> str:
    if refusal.parked:
        return f"the org's budget of {refusal.day} is spent"
    return "calls under way hold the rest of the org's budget"


def _settle(ctx: JobContext, reservation: UUID, cost_microcents: int) -> None:
    def attempt() -> None:
        with ctx.runtime.database.statements() as tx:
            spending.settle(tx, reservation, cost_microcents)

    # What it cost is known here and nowhere else: a database that is away is waited for.
    patiently(ctx.runtime, attempt)

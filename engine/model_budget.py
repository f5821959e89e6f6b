"""What a job may spend on a paid model: money is set aside before a call and settled after it, per org and day."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from domain.clean_text import clean_text
from domain.jobs.failures import CallState, ClaimLost, Failure, Invalid, OverBudget, Refused
from domain.jobs.job import ClaimedJob, JsonObject
from domain.payloads.budgets import AlertPayload
from domain.payloads.payload import Payload
from engine.beside_failure import beside_failure
from engine.database_away import retry_while_away
from engine.interrupts import Canceled, Interrupted
from engine.runtime import Runtime
from providers.ports.language_model import (
    ConversationAnswer,
    ConversationRequest,
    LanguageModel,
    ModelAnswer,
    ModelRequest,
    Usage,
)
from storage.jobs import audit
from storage.models.money import model_calls, spending
from storage.models.money.model_calls import KeptAnswer, ModelCall
from storage.models.money.spending import BudgetRefusal, Reserved
from storage.postgres.database import Transaction

REFUSED = "refused"
"""In place of the vendor's reason why an answer ended, where it took no request; and where a step keeps its reason."""
LONGEST_REFUSAL = 1_000

BASED_ON = "based_on"
"""Where a step keeps what its answer was made from."""

CheckAnswer = Callable[[Mapping[str, Any]], str | None]
"""Why the arguments of a tool call cannot be used; None when they can."""

MOST_TRIES = 5
"""How often money may turn up between the refusal and the look at the org's day before the job goes round the queue."""


class ModelBudget:
    """The org's money for one attempt at a job; the only way to ask a model."""

    def __init__(
        self,
        runtime: Runtime,
        job: ClaimedJob,
        providers: Sequence[str],
        *,
        add_cost: Callable[[int], None],
        enqueue: Callable[[Transaction, Payload], object],
    ) -> None:
        """`providers` are those that the job's type names.

        `add_cost` adds microcents to the attempt's cost; `enqueue` enqueues a child of the job.
        """
        self._runtime = runtime
        self._job = job
        self._providers = providers
        self._add_cost = add_cost
        self._enqueue = enqueue

    def ask(  # noqa: PLR0913 - who is asked, what, for whom, and what is kept of it
        self,
        provider: str,
        model: LanguageModel,
        step: str,
        request: ModelRequest,
        *,
        account_id: UUID | None = None,
        check: CheckAnswer | None = None,
        based_on: str | None = None,
    ) -> JsonObject:
        """Make one call per job and step that the job's org can pay for; a later attempt gets the kept answer.

        Returns `arguments` (those of the tool call, or None), `stop_reason`, `cost` in microcents, and the `based_on`
        of the call, which tells a later attempt what the answer was made from; where the vendor would not take the
        request, `refused` says why, and the same job does not ask again. The cost is booked
        whatever becomes of the claim or the answer. With an account the call is listed among its model calls under the
        part of the step before its dot, and with it why the answer cannot be used, by `check` or because there is none.

        Raises `OverBudget` after closing the org's gate at the provider: no attempt is used, the org's other jobs that
        need the provider stay queued, and an alert is raised once a day. Raises what the call raises; one that may
        have been billed without an answer is charged in full. Raises `ValueError` when the job's type does not name the
        provider: no gate would keep its jobs back, and without money they would be tried again and again.
        """
        basis: JsonObject = {} if based_on is None else {BASED_ON: based_on}

        def call() -> tuple[ModelAnswer, JsonObject, str | None]:
            try:
                answer = model.ask(request)
            except Refused as refused:
                refusal = basis | {"arguments": None, REFUSED: refused.reason}
                return _refused_answer(request.model), refusal, refused.reason
            said = answer.arguments
            kept = basis | {"arguments": said}
            if said is None:
                return answer, kept, f"no answer: {answer.stop_reason}"
            return answer, kept, check(said) if check else None

        most = model.most_microcents(request)
        return self._once(_Paid(provider, step, account_id, most, partial(_closer, model, request, most)), call)

    def converse(
        self,
        provider: str,
        model: LanguageModel,
        step: str,
        request: ConversationRequest,
        *,
        account_id: UUID | None = None,
        most_microcents: int,
    ) -> JsonObject:
        """Make one call of a conversation, as `ask`: one per job and `step`, such as `agent_turn.3`.

        `most_microcents` is the most that the caller has found the call to cost. Returns `content`, the blocks of the
        answer, `stop_reason` and `cost`. The part of the step before its dot is the purpose in the list of calls.
        """

        def call() -> tuple[ConversationAnswer, JsonObject, str | None]:
            answer = model.converse(request)
            refusal = None if answer.content else f"no answer: {answer.stop_reason}"
            return answer, {"content": list(answer.content)}, refusal

        closer = partial(_closer, model, request, most_microcents)
        return self._once(_Paid(provider, step, account_id, most_microcents, closer), call)

    def _once(self, paid: "_Paid", call: Callable[[], "tuple[_Answer, JsonObject, str | None]"]) -> JsonObject:
        """Set the money aside, make the call, book what it cost and keep what it said; or return what was kept."""
        if paid.provider not in self._providers:
            raise ValueError(f"{self._job.job_type} asks the model and does not name {paid.provider} in its providers")
        if self._runtime.stopping.is_set():
            raise Interrupted("the worker is stopping")
        paid, reserved = self._reserve(paid)
        if reserved.reservation_id is None:
            return reserved.kept or {}
        began = time.monotonic()
        try:
            answer, said, refusal = call()
        except Failure as failure:
            with beside_failure("charge"):
                cost = 0 if failure.call_state is CallState.NOT_DONE else paid.most
                self._book(reserved.reservation_id, _unanswered(paid, cost))
            raise
        took = timedelta(seconds=time.monotonic() - began)
        listed = _listed(paid, answer, refusal)
        return self._keep(reserved.reservation_id, paid, said | _facts(answer), listed, took)

    def _reserve(self, paid: "_Paid") -> "tuple[_Paid, Reserved]":
        """Money for the call, or the answer of an earlier attempt; one statement while the org has money.

        The bound by the prompt's bytes is some times too high. Only where it is too much, the vendor counts the tokens;
        the call is returned with the bound that its money was set aside by.
        """
        default_daily = self._runtime.settings.daily_budget_microcents
        for _ in range(MOST_TRIES):
            with self._runtime.database.statements() as tx:
                reserved = spending.reserve(tx, self._job, paid.most, default_daily=default_daily, step=paid.step)
            if reserved.cancel_reason is not None:
                raise Canceled(reserved.cancel_reason)
            if reserved.reservation_id is not None or reserved.kept is not None:
                return paid, reserved
            if paid.count is not None:
                paid = replace(paid, most=paid.count(), count=None)
                continue
            refusal = self._refuse(paid.provider, paid.most, default_daily)
            if refusal is not None:
                raise OverBudget(_reason(refusal))
        raise OverBudget("the org's budget moves too fast")

    def _keep(
        self, reservation_id: UUID, paid: "_Paid", kept: JsonObject, listed: ModelCall, took: timedelta
    ) -> JsonObject:
        """Book the cost, list the call and keep the answer in one statement.

        The cost stays booked when the answer cannot be kept, because the claim is lost or the answer is not storable.
        """
        self._add_cost(listed.cost_microcents)
        try:
            is_kept = self._book(reservation_id, listed, paid.account_id, KeptAnswer(paid.step, kept, took))
        except Invalid:
            self._book(reservation_id, listed, paid.account_id)
            raise
        if not is_kept:
            raise ClaimLost(f"the claim was lost before step {paid.step} was kept")
        return kept

    def _book(
        self,
        reservation_id: UUID,
        call: ModelCall,
        account_id: UUID | None = None,
        kept: KeptAnswer | None = None,
    ) -> bool:
        def write() -> bool:
            with self._runtime.database.statements() as tx:
                return model_calls.book(tx, self._job, reservation_id, call, account_id=account_id, kept=kept)

        # What it cost is known here and nowhere else: a database that is away is waited for.
        return retry_while_away(self._runtime, write)

    def _refuse(self, provider: str, most: int, default_daily: int) -> BudgetRefusal | None:
        """Close the gate, and with the first refusal of a day enqueue the alert, in one transaction."""
        job = self._job
        with self._runtime.database.ledger() as tx:
            refusal = spending.refuse(tx, job, most, provider, default_daily=default_daily)
            if refusal is not None and refusal.first:
                budget = refusal.budget
                facts = {"day": refusal.day, "daily_microcents": budget.daily}
                audit.record(tx, job, "budget.exhausted", facts | {"spent_microcents": budget.spent})
                self._enqueue(tx, AlertPayload.model_validate(facts))
        return refusal


@dataclass(frozen=True, slots=True)
class _Paid:
    """One call that is to be paid: who is asked, the step that keeps the answer, for whom, and the most it costs.

    `count` has the vendor count the prompt's tokens and returns a closer bound.
    """

    provider: str
    step: str
    account_id: UUID | None
    most: int
    count: Callable[[], int] | None = None


_Answer = ModelAnswer | ConversationAnswer


def _facts(answer: _Answer) -> JsonObject:
    return {"stop_reason": answer.stop_reason, "cost": answer.cost_microcents}


def _closer(model: LanguageModel, request: ModelRequest | ConversationRequest, most: int) -> int:
    """The most that a call costs by the counted tokens of its prompt; `most` where they cannot be counted.

    A failure to count has a limit of its own at the vendor, and must not close the gate for calls that can be paid.
    """
    try:
        return min(most, model.most_microcents(request, model.count_tokens(request)))
    except Failure:
        return most


def _refused_answer(model: str) -> ModelAnswer:
    """What stands in the list for a call that the vendor did not take: nothing was read, nothing is billed."""
    return ModelAnswer(model, REFUSED, None, Usage(), 0)


def _unanswered(paid: _Paid, cost_microcents: int) -> ModelCall:
    """A call that failed; it is charged, and not listed."""
    return ModelCall(paid.step, "", "failed", cost_microcents)


def _listed(paid: _Paid, answer: _Answer, refusal: str | None) -> ModelCall:
    return ModelCall(
        purpose=paid.step.partition(".")[0],
        model=answer.model,
        stop_reason=answer.stop_reason,
        cost_microcents=answer.cost_microcents,
        request_id=answer.request_id,
        refusal=None if refusal is None else clean_text(refusal)[:LONGEST_REFUSAL],
        **asdict(answer.usage),
    )


def _reason(refusal: BudgetRefusal) -> str:
    if refusal.parked:
        return f"the org's budget of {refusal.day} is spent"
    return "calls under way hold the rest of the org's budget"

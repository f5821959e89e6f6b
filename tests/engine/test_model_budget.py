"""A paid call: what it cost is booked whatever becomes of its answer, and nothing is paid for a job that is to stop."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from domain.jobs.failures import (
    CallState,
    ClaimLost,
    Failure,
    Invalid,
    OverBudget,
    Refused,
    Scope,
    Throttled,
    Transient,
)
from engine.context import JobContext
from engine.interrupts import Canceled, Interrupted
from providers.ports.language_model import ConversationAnswer, ConversationRequest, ModelAnswer, ModelRequest, Usage
from storage.models.money import spending
from tests.doubles.factories import claim_one, enqueue_one
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.probe_jobs import QUESTION
from tests.doubles.triggers import refuse

COST = 1_000
TURN = ConversationRequest("a model", "system", (), "a thread")
VENDOR = "a vendor"
Asked = ModelRequest | ConversationRequest


@dataclass
class Answering:
    """A model that answers every request alike, and does something meanwhile."""

    arguments: dict[str, Any]
    meanwhile: Callable[[], object] = lambda: None
    asked: int = 0
    counted: int | Failure = 2 * COST
    """The tokens of the prompt, each a microcent; or why they cannot be counted."""

    def ask(self, _request: ModelRequest) -> ModelAnswer:
        self.asked += 1
        self.meanwhile()
        return ModelAnswer("a model", "tool_use", self.arguments, Usage(), COST, f"request {self.asked}")

    def most_microcents(self, _request: Asked, prompt_tokens: int | None = None) -> int:
        return 2 * COST if prompt_tokens is None else prompt_tokens

    def count_tokens(self, _request: Asked) -> int:
        if isinstance(self.counted, Failure):
            raise self.counted
        return self.counted

    def converse(self, _request: ConversationRequest) -> ConversationAnswer:
        self.asked += 1
        self.meanwhile()
        said = ({"type": "text", "text": f"answer {self.asked}"},)
        return ConversationAnswer("a model", "end_turn", said, Usage(), COST, f"request {self.asked}")


def held(env: MailEnvironment, *providers: str) -> JobContext:
    """A job whose type names these providers."""
    payload = {"account_id": str(env.account.account_id), "message_id": "m"}
    job_id = enqueue_one(env.process.database, env.account.org_id, "triage.classify", payload=payload)
    return JobContext(env.process, claim_one(env.process.database, job_id), providers=providers)


def ask(env: MailEnvironment, ctx: JobContext, model: Answering) -> dict[str, Any]:
    return ctx.budget.ask(VENDOR, model, "classify", QUESTION, account_id=env.account.account_id)


def converse(env: MailEnvironment, ctx: JobContext, model: Answering, step: str) -> dict[str, Any]:
    account_id = env.account.account_id
    return ctx.budget.converse(VENDOR, model, step, TURN, account_id=account_id, most_microcents=2 * COST)


def booked(env: MailEnvironment) -> tuple[int, int, int]:
    """What was spent, what is still set aside, and how many calls are listed."""
    row = env.database.execute("select spent_microcents, reserved_microcents from budget_days").fetchone()
    spent, reserved = row or (0, 0)
    return spent, reserved, env.count("select count(*) from llm_calls")


def test_an_answer_is_paid_for_once(env: MailEnvironment) -> None:
    model = Answering({"label": "fyi"})
    ctx = held(env, VENDOR)
    answer = {"arguments": {"label": "fyi"}, "stop_reason": "tool_use", "cost": COST}
    assert [ask(env, ctx, model), ask(env, ctx, model)] == [answer, answer]
    assert model.asked == 1
    assert booked(env) == (COST, 0, 1)
    assert ctx.cost_microcents == COST


def test_the_cost_is_booked_although_the_claim_was_lost(env: MailEnvironment) -> None:
    def lose() -> None:
        env.database.execute("update jobs set claim_token = gen_random_uuid()")

    with pytest.raises(ClaimLost):
        ask(env, held(env, VENDOR), Answering({}, lose))
    assert booked(env) == (COST, 0, 1)
    assert env.count("select count(*) from job_steps") == 0


def test_the_cost_is_booked_although_the_answer_cannot_be_stored(env: MailEnvironment) -> None:
    with pytest.raises(Invalid):
        ask(env, held(env, VENDOR), Answering({"label": "\x00"}))
    assert booked(env) == (COST, 0, 1)
    assert env.count("select count(*) from job_steps") == 0


def test_nothing_is_paid_for_a_job_that_is_to_be_canceled(env: MailEnvironment) -> None:
    model = Answering({})
    ctx = held(env, VENDOR)
    env.database.execute("update jobs set cancel_requested_at = now(), cancel_reason = 'no need'")
    with pytest.raises(Canceled, match="no need"):
        ask(env, ctx, model)
    assert model.asked == 0
    assert booked(env) == (0, 0, 0)


def test_a_type_that_does_not_name_the_provider_may_not_ask(env: MailEnvironment) -> None:
    """Its jobs would be kept back by no gate."""
    model = Answering({})
    ctx = held(env, "another vendor")
    with pytest.raises(ValueError, match="providers"):
        ask(env, ctx, model)
    assert model.asked == 0
    assert booked(env) == (0, 0, 0)


def test_nothing_is_paid_while_the_process_stops(env: MailEnvironment) -> None:
    model = Answering({})
    ctx = held(env, VENDOR)
    env.process.stopping.set()
    with pytest.raises(Interrupted):
        ask(env, ctx, model)
    assert model.asked == 0
    assert booked(env) == (0, 0, 0)


def test_each_turn_of_a_conversation_is_paid_for_once(env: MailEnvironment) -> None:
    model = Answering({})
    ctx = held(env, VENDOR)
    first, again, second = (converse(env, ctx, model, f"agent_turn.{turn}") for turn in (1, 1, 2))
    assert (
        first == again == {"content": [{"type": "text", "text": "answer 1"}], "stop_reason": "end_turn", "cost": COST}
    )
    assert second["content"][0]["text"] == "answer 2"
    assert booked(env) == (2 * COST, 0, 2)
    purposes = env.database.execute("select distinct purpose from llm_calls").fetchall()
    assert purposes == [("agent_turn",)], "the purpose is the part of the step before its dot"


def test_a_turn_is_charged_when_its_claim_is_lost(env: MailEnvironment) -> None:
    ctx = held(env, VENDOR)
    model = Answering({}, meanwhile=lambda: env.database.execute("update jobs set claim_token = gen_random_uuid()"))
    with pytest.raises(ClaimLost):
        converse(env, ctx, model, "agent_turn.1")
    assert booked(env) == (COST, 0, 1)


def with_money(env: MailEnvironment, microcents: int) -> None:
    with env.process.database.ledger() as tx:
        spending.set_daily(tx, env.account.org_id, microcents, VENDOR, by="ada")


def test_the_tokens_are_counted_where_the_bound_by_bytes_is_too_much(env: MailEnvironment) -> None:
    with_money(env, 2 * COST - 1)
    ctx = held(env, VENDOR)
    assert ask(env, ctx, Answering({"label": "fyi"}, counted=COST))["cost"] == COST
    assert booked(env) == (COST, 0, 1)


THROTTLED = Throttled("count", retry_after=timedelta(minutes=1), scope=Scope.PROVIDER, provider=VENDOR)


@pytest.mark.parametrize("counted", [2 * COST, 5 * COST, Refused("too long"), Transient("away"), THROTTLED])
def test_what_cannot_be_paid_by_any_count_is_not_asked(env: MailEnvironment, counted: int | Failure) -> None:
    with_money(env, 2 * COST - 1)
    model = Answering({}, counted=counted)
    with pytest.raises(OverBudget):
        ask(env, held(env, VENDOR), model)
    assert model.asked == 0
    assert booked(env) == (0, 0, 0)


def test_a_counted_call_that_may_have_been_billed_is_charged_as_it_was_counted(env: MailEnvironment) -> None:
    def fail() -> None:
        raise Transient("no answer", call_state=CallState.IN_DOUBT)

    with_money(env, 2 * COST - 1)
    with pytest.raises(Transient):
        ask(env, held(env, VENDOR), Answering({}, fail, counted=COST + 1))
    assert booked(env) == (COST + 1, 0, 0)


def test_a_refused_request_is_kept_and_listed_and_costs_nothing(env: MailEnvironment) -> None:
    def refuse() -> None:
        raise Refused("status 400")

    model = Answering({}, refuse)
    ctx = held(env, VENDOR)
    kept = {"arguments": None, "refused": "status 400", "stop_reason": "refused", "cost": 0}
    assert [ask(env, ctx, model), ask(env, ctx, model)] == [kept, kept]
    assert model.asked == 1
    assert booked(env) == (0, 0, 1)


@pytest.mark.parametrize("why", [None, "it says nothing\x00", "x" * 2_000])
def test_why_an_answer_cannot_be_used_is_listed_with_its_call(env: MailEnvironment, why: str | None) -> None:
    ctx = held(env, VENDOR)
    ctx.budget.ask(
        VENDOR, Answering({"a": 1}), "classify.b", QUESTION, account_id=env.account.account_id, check=lambda _said: why
    )
    row = env.database.execute("select purpose, refusal from llm_calls").fetchone()
    assert row == ("classify", why and why.replace("\x00", "")[:1_000])


def test_why_a_call_failed_counts_although_its_cost_cannot_be_written(env: MailEnvironment) -> None:
    """Housekeeping charges what is set aside once the claim is gone."""

    def fail() -> None:
        raise Throttled("slow down", retry_after=timedelta(minutes=20), scope=Scope.PROVIDER, provider=VENDOR)

    refuse(env.database, "delete", "budget_reservations")
    with pytest.raises(Throttled):
        ask(env, held(env, VENDOR), Answering({}, fail))
    assert booked(env) == (0, 2 * COST, 0)

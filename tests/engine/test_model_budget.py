"""A paid call: what it cost is booked whatever becomes of its answer, and nothing is paid for a job that is to stop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from domain.jobs.failures import ClaimLost, Invalid
from engine.context import JobContext
from engine.interrupts import Canceled, Interrupted
from providers.ports import ModelAnswer, ModelRequest, Usage
from tests.doubles.factories import claim_one, enqueue_one
from tests.doubles.probe_jobs import QUESTION
from tests.doubles.worlds import World

COST = 1_000
VENDOR = "a vendor"


@dataclass
class Answering:
    """A model that answers every request alike, and does something meanwhile."""

    arguments: dict[str, Any]
    meanwhile: Callable[[], object] = lambda: None
    asked: int = 0

    def ask(self, _request: ModelRequest) -> ModelAnswer:
        self.asked += 1
        self.meanwhile()
        return ModelAnswer("a model", "tool_use", self.arguments, Usage(), COST, f"request {self.asked}")

    def most_microcents(self, _request: ModelRequest) -> int:
        return 2 * COST


def held(world: World, *providers: str) -> JobContext:
    """A job whose type names these providers."""
    payload = {"account_id": str(world.account.account_id), "message_id": "m"}
    job_id = enqueue_one(world.process.database, world.account.org_id, "triage.classify", payload=payload)
    return JobContext(world.process, claim_one(world.process.database, job_id), providers=providers)


def ask(world: World, ctx: JobContext, model: Answering) -> dict[str, Any]:
    return ctx.budget.ask(VENDOR, model, "classify", QUESTION, account_id=world.account.account_id)


def booked(world: World) -> tuple[int, int, int]:
    """What was spent, what is still set aside, and how many calls are listed."""
    row = world.database.execute("select spent_microcents, reserved_microcents from budget_days").fetchone()
    spent, reserved = row or (0, 0)
    return spent, reserved, world.count("select count(*) from llm_calls")


def test_an_answer_is_paid_for_once(world: World) -> None:
    model = Answering({"label": "fyi"})
    ctx = held(world, VENDOR)
    answer = {"arguments": {"label": "fyi"}, "stop_reason": "tool_use", "cost": COST}
    assert [ask(world, ctx, model), ask(world, ctx, model)] == [answer, answer]
    assert model.asked == 1
    assert booked(world) == (COST, 0, 1)
    assert ctx.cost_microcents == COST


def test_the_cost_is_booked_although_the_claim_was_lost(world: World) -> None:
    def lose() -> None:
        world.database.execute("update jobs set claim_token = gen_random_uuid()")

    with pytest.raises(ClaimLost):
        ask(world, held(world, VENDOR), Answering({}, lose))
    assert booked(world) == (COST, 0, 1)
    assert world.count("select count(*) from job_steps") == 0


def test_the_cost_is_booked_although_the_answer_cannot_be_stored(world: World) -> None:
    with pytest.raises(Invalid):
        ask(world, held(world, VENDOR), Answering({"label": "\x00"}))
    assert booked(world) == (COST, 0, 1)
    assert world.count("select count(*) from job_steps") == 0


def test_nothing_is_paid_for_a_job_that_is_to_be_canceled(world: World) -> None:
    model = Answering({})
    ctx = held(world, VENDOR)
    world.database.execute("update jobs set cancel_requested_at = now(), cancel_reason = 'no need'")
    with pytest.raises(Canceled, match="no need"):
        ask(world, ctx, model)
    assert model.asked == 0
    assert booked(world) == (0, 0, 0)


def test_a_type_that_does_not_name_the_provider_may_not_ask(world: World) -> None:
    """Its jobs would be kept back by no gate."""
    model = Answering({})
    ctx = held(world, "another vendor")
    with pytest.raises(ValueError, match="does not name a vendor in its providers"):
        ask(world, ctx, model)
    assert model.asked == 0
    assert booked(world) == (0, 0, 0)


def test_nothing_is_paid_while_the_process_stops(world: World) -> None:
    model = Answering({})
    ctx = held(world, VENDOR)
    world.process.stopping.set()
    with pytest.raises(Interrupted):
        ask(world, ctx, model)
    assert model.asked == 0
    assert booked(world) == (0, 0, 0)

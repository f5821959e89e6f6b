"""An org that has spent its day: its jobs park without an attempt, the operator is told once, the others go on."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import SYSTEM_ORG
from engine.app import publish_catalogue
from providers.anthropic.language_model import AnthropicModel
from sandbox.emulator.control import FaultOrder
from storage.money import spending
from storage.money.spending import OrgBudget
from tests.doubles import probe_jobs
from tests.doubles.factories import make_org, unmetered
from tests.doubles.probe_jobs import QUESTION
from tests.doubles.worlds import World

MODEL = "anthropic"


def set_daily(world: World, org_id: UUID, daily: int | None) -> None:
    with world.process.database.ledger() as tx:
        spending.set_daily(tx, org_id, daily, MODEL, by="ada")


def day_of(world: World, org_id: UUID) -> OrgBudget:
    with world.process.database.ledger() as tx:
        daily = world.process.settings.daily_budget_microcents
        (found,) = spending.budgets(tx, MODEL, default_daily=daily, org_id=org_id)
    return found


def enqueue(world: World, org_id: UUID, job_type: str = probe_jobs.asking.name) -> UUID:
    with world.process.database.ledger() as tx:
        return UUID(str(tx.raw("select postroom.enqueue(%(type)s, %(org)s)", {"type": job_type, "org": org_id})[0][0]))


def most() -> int:
    """The most that the probe's question can cost."""
    with AnthropicModel(api_key="k", timeout_s=1, meter=unmetered) as model:
        return model.most_microcents(QUESTION)


@pytest.fixture
def org(world: World, database: Connection) -> UUID:
    publish_catalogue()
    assert world.account
    return make_org(database, "an org that asks")


def test_a_call_is_booked_with_what_it_cost(world: World, org: UUID) -> None:
    job_id = enqueue(world, org)
    assert world.run(job_id) == "succeeded"
    cost = world.job(job_id)["output"]["cost"]
    day = day_of(world, org)
    assert 0 < cost <= most()
    assert (day.spent_microcents, day.reserved_microcents) == (cost, 0)


def test_an_org_without_money_parks_and_the_operator_is_told_once(world: World, org: UUID) -> None:
    set_daily(world, org, most() - 1)
    jobs = [enqueue(world, org) for _ in range(3)]
    other = enqueue(world, make_org(world.database, "another org"))
    assert [world.run(job_id) for job_id in jobs] == ["queued", "not_claimed", "not_claimed"]
    assert world.model.journal("messages.create") == []
    assert {(world.job(job_id)["state"], world.job(job_id)["attempt"]) for job_id in jobs} == {("queued", 0)}
    assert world.run(other) == "succeeded"
    day = day_of(world, org)
    assert day.parked_until is not None
    assert day.parked_until.astimezone(UTC).time() == datetime.min.time()
    assert world.drain(only="budgets.%") == [("budgets.alert", "succeeded")]
    events = "select count(*) from audit_log where org_id = %s and event = %s"
    assert [world.count(events, org, event) for event in ("budget.exhausted", "budget.told")] == [1, 1]


def test_a_raised_budget_lets_the_parked_go_on_and_tells_nobody_again(world: World, org: UUID) -> None:
    set_daily(world, org, most() - 1)
    first, second = enqueue(world, org), enqueue(world, org)
    assert world.run(first) == "queued"
    set_daily(world, org, most())
    assert world.run(first) == "succeeded"
    assert world.job(first)["attempt"] == 1
    set_daily(world, org, most())
    assert world.run(second) == "queued", "what is left does not pay for a second call"
    assert world.count("select count(*) from jobs where job_type = 'budgets.alert'") == 1


def test_an_alert_without_a_reason_is_pointless(world: World, org: UUID) -> None:
    with world.process.database.ledger() as tx:
        rows = tx.raw(
            'select postroom.enqueue(\'budgets.alert\', %(org)s, \'{"day": "2026-01-01", "daily_microcents": 1}\')',
            {"org": org},
        )
    assert world.run(UUID(str(rows[0][0]))) == "canceled"


@pytest.mark.parametrize(
    ("fault", "in_full"),
    [
        ({"status": 400, "reason": "invalid_request_error"}, False),
        ({"status": 429, "reason": "rate_limit_error"}, False),
        ({"drop": "after"}, True),
        ({"status": 529, "reason": "overloaded_error"}, True),
    ],
)
def test_a_call_that_may_have_been_billed_is_charged_in_full_and_a_refused_one_not_at_all(
    world: World, org: UUID, fault: dict[str, object], in_full: bool
) -> None:
    world.model.order(FaultOrder(operation="messages.create", **fault))  # type: ignore[arg-type] # a row of the table
    world.run(enqueue(world, org))
    day = day_of(world, org)
    assert (day.spent_microcents, day.reserved_microcents) == (most() if in_full else 0, 0)


def test_the_days_figure_is_the_sum_of_the_recorded_calls(world: World) -> None:
    world.sync()
    world.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    world.sync()
    recorded = world.count("select sum(cost_microcents) from llm_calls where org_id = %s", world.account.org_id)
    assert recorded > 0
    assert day_of(world, world.account.org_id).spent_microcents == recorded


def test_a_job_type_that_asks_must_say_so(world: World, org: UUID) -> None:
    job_id = enqueue(world, org, probe_jobs.undeclared.name)
    assert world.run(job_id) == "queued"
    assert "does not name anthropic in its providers" in world.job(job_id)["error"]["reason"]
    assert world.model.journal("messages.create") == []


def test_housekeeping_charges_what_dead_workers_held(world: World, org: UUID) -> None:
    world.database.execute(
        "insert into budget_days (org_id, day, reserved_microcents) values (%s, current_date, 9)", (org,)
    )
    world.database.execute(
        "insert into budget_reservations (org_id, day, job_id, token, microcents)"
        " values (%s, current_date, gen_random_uuid(), gen_random_uuid(), 9)",
        (org,),
    )
    job_id = enqueue(world, SYSTEM_ORG, "maintenance.charge_lost_reservations")
    assert world.run(job_id) == "succeeded"
    assert world.job(job_id)["output"] == {"charged": 1}
    assert world.count("select spent_microcents - reserved_microcents from budget_days where org_id = %s", org) == 9

"""Real workers and a budget: an org's jobs park without an attempt, others go on, more money releases them."""

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from commands.operations import AREAS
from providers.anthropic.language_model import AnthropicModel
from sandbox.anthropic.anthropic import anthropic_emulator
from sandbox.emulator.control import EmulatorControl, FaultOrder
from storage.models.money import spending
from storage.postgres.execution import Row
from tests.cluster.nodes import WorkerNode
from tests.commands.calling import answer
from tests.doubles.factories import make_org, unmetered
from tests.doubles.probe_jobs import QUESTION, Asking
from tests.fleet.fleet import END_WITHIN_S, Fleet, wait_until_ready
from tests.waiting import eventually

MANY = 25
ENOUGH_CENTS = 1_000
PARKED = "select count(*) from jobs where id = any (%s) and state = 'queued' and attempt = 0"


@pytest.fixture
def model() -> Iterator[EmulatorControl]:
    with anthropic_emulator() as emulator:
        yield EmulatorControl(emulator.url)


def asking_worker(fleet: Fleet, model: EmulatorControl, name: str) -> WorkerNode:
    return fleet.worker(
        name,
        queues=("default", "notifications"),
        POSTROOM_ANTHROPIC_BASE_URL=model.url,
        POSTROOM_ANTHROPIC_API_KEY="key",
    )


def most() -> int:
    """The highest cost of one question, in microcents, as it is set aside while there is money."""
    with AnthropicModel(api_key="k", timeout_s=1, meter=unmetered) as priced:
        return priced.most_microcents(QUESTION)


def closest(model: EmulatorControl) -> int:
    """The highest cost of one question, in microcents, its tokens counted as an org is that has little left."""
    with AnthropicModel(api_key="k", timeout_s=5, meter=unmetered, base_url=model.url) as priced:
        return priced.most_microcents(QUESTION, priced.count_tokens(QUESTION))


def day_of(fleet: Fleet) -> Row:
    with fleet.client.database.ledger() as tx:
        return spending.budget(tx, "anthropic", default_daily=10**9, org_id=fleet.org)


def calls(model: EmulatorControl) -> int:
    return len(model.journal("messages.create"))


def parked(fleet: Fleet, jobs: list[UUID]) -> int:
    return int(fleet.ask(PARKED, jobs)[0][0])


def audited(fleet: Fleet, event: str) -> int:
    return int(fleet.ask("select count(*) from audit_log where org_id = %s and event = %s", fleet.org, event)[0][0])


def test_an_org_that_spent_its_day_parks_and_goes_on_when_it_is_given_more(
    fleet: Fleet, model: EmulatorControl
) -> None:
    wait_until_ready(asking_worker(fleet, model, "one"), asking_worker(fleet, model, "two"))
    first = fleet.enqueue(Asking())
    assert fleet.wait_for_end([first]) == {"succeeded": 1}
    cost = day_of(fleet).spent_microcents
    daily = cost + 3 * cost + closest(model)
    with fleet.client.database.ledger() as tx:
        spending.set_daily(tx, fleet.org, daily, "anthropic", by="test")
    jobs = fleet.enqueue_many([Asking().job(org_id=fleet.org) for _ in range(MANY)])
    eventually(lambda: audited(fleet, "budget.told") == 1, within=END_WITHIN_S, describe="the operator to be told")
    with psycopg.connect(fleet.database_url, autocommit=True) as owner:
        other = make_org(owner, "another org")
    passing = fleet.enqueue_many([Asking().job(org_id=other) for _ in range(3)])
    assert fleet.wait_for_end(passing) == {"succeeded": 3}
    eventually(
        lambda: parked(fleet, jobs) + fleet.states(jobs)["succeeded"] == MANY,
        within=END_WITHIN_S,
        describe="every job to be paid for or parked",
    )

    day = day_of(fleet)
    paid = calls(model) - 1 - len(passing)
    assert 1 <= paid <= 4, "what is left must always pay for the dearest answer"
    assert (day.spent_microcents, day.reserved_microcents) == ((paid + 1) * cost, 0)
    assert day.spent_microcents <= daily < day.spent_microcents + closest(model)
    assert parked(fleet, jobs) == MANY - paid
    assert fleet.ask("select state from jobs where job_type = 'budgets.alert'") == [("succeeded",)]

    answer(AREAS.budgets, "set", fleet.org, "--cents", ENOUGH_CENTS)
    assert fleet.wait_for_end(jobs) == {"succeeded": MANY}
    assert fleet.ask("select distinct attempt from jobs where id = any (%s)", jobs) == [(1,)]
    assert calls(model) == 1 + MANY + len(passing)
    assert (audited(fleet, "budget.exhausted"), audited(fleet, "budget.told")) == (1, 1)
    fleet.check()


def test_what_a_killed_worker_had_set_aside_is_charged_and_no_longer_reserved(
    fleet: Fleet, model: EmulatorControl
) -> None:
    model.order(FaultOrder(operation="messages.create", hang_s=120, times=1))
    doomed = asking_worker(fleet, model, "doomed")
    doomed.ready()
    job_id = fleet.enqueue(Asking())
    model.wait_for("messages.create", count=1, timeout_s=END_WITHIN_S)
    assert day_of(fleet).reserved_microcents == most()
    doomed.kill()
    asking_worker(fleet, model, "second").ready()
    assert fleet.wait_for_end([job_id]) == {"succeeded": 1}
    cost = fleet.ask("select output ->> 'cost' from jobs where id = %s", job_id)[0][0]
    assert day_of(fleet).reserved_microcents == most(), "until somebody looks"
    with fleet.client.database.ledger() as tx:
        assert spending.charge_lost(tx) == 1
    day = day_of(fleet)
    assert (day.spent_microcents, day.reserved_microcents) == (most() + int(cost), 0)
    fleet.check()

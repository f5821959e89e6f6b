"""An org's day: no two workers reserve the same money, nothing leaks, and a gate is closed for who has none left."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from domain.jobs.failures import ClaimLost
from domain.jobs.job import ClaimedJob
from domain.models.money import DailyBudget
from storage.jobs import ledger
from storage.models.money import model_calls, spending
from storage.models.money.model_calls import ModelCall
from storage.models.money.spending import BudgetRefusal
from storage.postgres.database import Database
from storage.postgres.execution import Row
from tests.doubles.factories import LEASE, claim_one, enqueue_one, make_job_type, make_org, make_worker
from tests.waiting import eventually, patient

MODEL = "anthropic"
NO_BUDGET = 10**9
names = count()


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store, "probe.asking", providers=(MODEL,))
    make_job_type(store, "probe.silent", providers=("gmail",))
    return make_org(database)


def holder(store: Database, org_id: UUID, job_type: str = "probe.asking") -> ClaimedJob:
    """A job of the org in the hands of a worker."""
    return claim_one(store, enqueue_one(store, org_id, job_type))


def reserve(store: Database, job: ClaimedJob, amount: int, daily: int = NO_BUDGET) -> UUID | None:
    with store.statements() as tx:
        return spending.reserve(tx, job, amount, default_daily=daily).reservation_id


def settle(store: Database, job: ClaimedJob, reservation: UUID, cost: int) -> None:
    with store.statements() as tx:
        model_calls.book(tx, job, reservation, ModelCall("probe", "a-model", "end_turn", cost))


def refuse(store: Database, job: ClaimedJob, amount: int, daily: int) -> BudgetRefusal | None:
    with store.ledger() as tx:
        return spending.refuse(tx, job, amount, MODEL, default_daily=daily)


def day_of(store: Database, org_id: UUID, daily: int = NO_BUDGET) -> Row:
    with store.ledger() as tx:
        return spending.budget(tx, MODEL, default_daily=daily, org_id=org_id)


def figures(store: Database, org_id: UUID) -> tuple[int, int]:
    """What is spent and what is reserved."""
    day = day_of(store, org_id)
    return day.spent_microcents, day.reserved_microcents


def lose_claim(database: Connection, job: ClaimedJob) -> None:
    database.execute(
        "update jobs set state = 'queued', claim_token = null, worker_id = null, claimed_at = null where id = %s",
        (job.job_id,),
    )


def test_money_is_set_aside_and_then_spent(store: Database, org: UUID) -> None:
    job = holder(store, org)
    first, second = reserve(store, job, 600, 1_000), reserve(store, job, 400, 1_000)
    assert first is not None
    assert second is not None
    assert reserve(store, job, 1, 1_000) is None
    assert figures(store, org) == (0, 1_000)
    settle(store, job, first, 100)
    assert figures(store, org) == (100, 400)
    assert reserve(store, job, 500, 1_000) is not None


def test_a_reservation_is_settled_once(store: Database, org: UUID) -> None:
    job = holder(store, org)
    reservation = reserve(store, job, 600)
    assert reservation is not None
    for _ in range(2):
        settle(store, job, reservation, 100)
    assert figures(store, org) == (100, 0)


def test_a_call_that_is_dearer_than_the_whole_day_is_never_granted(store: Database, org: UUID) -> None:
    assert reserve(store, holder(store, org), 1_001, 1_000) is None
    assert figures(store, org) == (0, 0)


def test_an_orgs_own_budget_stands_above_the_installations(store: Database, org: UUID, database: Connection) -> None:
    other = make_org(database, "another org")
    with store.ledger() as tx:
        spending.set_daily(tx, org, 5, MODEL, by="ada")
    assert reserve(store, holder(store, org), 6, 1_000) is None
    assert reserve(store, holder(store, other), 6, 1_000) is not None
    assert (day_of(store, org, 1_000).daily_microcents, day_of(store, org, 1_000).own) == (5, True)
    with store.ledger() as tx:
        spending.set_daily(tx, org, None, MODEL, by="ada")
    assert reserve(store, holder(store, org), 6, 1_000) is not None


def test_a_new_day_begins_with_the_whole_budget(store: Database, org: UUID, database: Connection) -> None:
    job = holder(store, org)
    assert reserve(store, job, 1_000, 1_000) is not None
    database.execute("alter table budget_reservations drop constraint budget_reservations_org_id_day_fkey")
    database.execute("update budget_days set day = day - 1")
    database.execute("update budget_reservations set day = day - 1")
    assert reserve(store, job, 1_000, 1_000) is not None


def test_who_lost_its_claim_sets_nothing_aside(store: Database, org: UUID, database: Connection) -> None:
    job = holder(store, org)
    lose_claim(database, job)
    with pytest.raises(ClaimLost):
        reserve(store, job, 1)
    assert figures(store, org) == (0, 0)


def test_workers_that_ask_at_once_do_not_overspend_together(store: Database, org: UUID) -> None:
    """Forty calls of eight threads for the money of seven."""
    jobs = [holder(store, org) for _ in range(40)]
    together = threading.Barrier(8)

    def ask(job: ClaimedJob) -> bool:
        together.wait(timeout=30)
        return reserve(store, job, 100, 799) is not None

    with ThreadPoolExecutor(8) as threads:
        granted = sum(threads.map(ask, jobs))
    assert granted == 7
    assert figures(store, org) == (0, 700)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60), st.floats(0, 1)), max_size=12), st.integers(0, 100))
def test_the_day_goes_as_the_arithmetic_says(
    store: Database, database: Connection, order: list[tuple[bool, int, float]], daily: int
) -> None:
    make_job_type(store, "probe.asking", providers=(MODEL,))
    org_id = make_org(database, f"org {next(names)}")
    job, budget, under_way = holder(store, org_id), DailyBudget(daily), list[tuple[UUID, int]]()
    for begins, amount, share in order:
        if begins:
            reservation = reserve(store, job, amount, daily)
            assert (reservation is not None) == budget.grants(amount)
            if reservation is not None:
                under_way.append((reservation, amount))
                budget = budget.reserve(amount)
        elif under_way:
            reservation, reserved = under_way.pop()
            settle(store, job, reservation, int(reserved * share))
            budget = budget.charge(reserved, int(reserved * share))
    assert figures(store, org_id) == (budget.spent, budget.reserved)


def test_what_a_dead_worker_set_aside_is_charged(store: Database, org: UUID, database: Connection) -> None:
    """Nobody knows whether the provider billed it; a budget errs on the careful side, and nothing stays reserved."""
    alive, dead = holder(store, org), holder(store, org)
    assert reserve(store, alive, 7) is not None
    assert reserve(store, dead, 30) is not None
    assert reserve(store, dead, 10) is not None
    lose_claim(database, dead)
    with store.ledger() as tx:
        assert spending.charge_lost(tx) == 2
        assert spending.charge_lost(tx) == 0
    assert figures(store, org) == (40, 7)


def test_an_attempt_that_follows_does_not_keep_its_forerunners_money(
    store: Database, org: UUID, database: Connection
) -> None:
    job = holder(store, org)
    assert reserve(store, job, 30) is not None
    lose_claim(database, job)
    again = claim_one(store, job.job_id)
    assert reserve(store, again, 5) is not None
    with store.ledger() as tx:
        assert spending.charge_lost(tx) == 1
    assert figures(store, org) == (30, 5)


def test_an_answer_that_comes_after_the_charge_corrects_it(store: Database, org: UUID, database: Connection) -> None:
    job = holder(store, org)
    reservation = reserve(store, job, 30)
    assert reservation is not None
    lose_claim(database, job)
    with store.ledger() as tx:
        spending.charge_lost(tx)
    settle(store, job, reservation, 4)
    assert figures(store, org) == (4, 0)


def test_old_charges_are_forgotten_and_stay_spent(store: Database, org: UUID, database: Connection) -> None:
    job = holder(store, org)
    reserve(store, job, 30)
    lose_claim(database, job)
    with store.ledger() as tx:
        spending.charge_lost(tx)
    database.execute("update budget_reservations set made_at = now() - interval '3 days', charged_at = made_at")
    database.execute("update budget_reservations set charged_at = now() - interval '3 days'")
    with store.ledger() as tx:
        spending.charge_lost(tx)
    assert database.execute("select count(*) from budget_reservations").fetchone() == (0,)
    assert figures(store, org) == (30, 0)


def test_whose_claim_was_taken_away_closes_no_gate(store: Database, org: UUID, database: Connection) -> None:
    """A refusal once closed the gate for whoever asked: a worker that had been frozen, too."""
    job = holder(store, org)
    lose_claim(database, job)
    with pytest.raises(ClaimLost):
        refuse(store, job, 100, daily=10)
    assert gate_of(database, org) is None
    assert database.execute("select count(*) from budget_days").fetchone() == (0,)


def gate_of(database: Connection, org_id: UUID) -> datetime | None:
    row = database.execute(
        "select until from gates where scope = 'org_provider' and key = %s", (f"{org_id}:{MODEL}",)
    ).fetchone()
    return None if row is None else row[0]


def is_closed(database: Connection, org_id: UUID) -> bool:
    """Whether the gate keeps anybody back now; the relay removes one that was opened."""
    until = gate_of(database, org_id)
    return until is not None and until > datetime.now(UTC)


def test_an_org_whose_money_is_gone_waits_for_the_next_day_and_is_told_of_once(
    store: Database, org: UUID, database: Connection
) -> None:
    job = holder(store, org)
    refusals = [refuse(store, job, 11, 10) for _ in range(2)]
    assert [refusal and (refusal.parked, refusal.first) for refusal in refusals] == [(True, True), (True, False)]
    until = gate_of(database, org)
    assert until is not None
    assert until.astimezone(UTC).time() == datetime.min.time()
    assert timedelta(0) < until - datetime.now(UTC) <= timedelta(days=1)
    day = day_of(store, org, 10)
    assert day.parked_until == until
    assert day.exhausted_at is not None


def test_an_org_whose_money_is_only_set_aside_waits_for_a_moment(
    store: Database, org: UUID, database: Connection
) -> None:
    job = holder(store, org)
    reserve(store, job, 8, 10)
    refusal = refuse(store, job, 5, 10)
    assert refusal is not None
    assert (refusal.parked, refusal.first) == (False, False)
    until = gate_of(database, org)
    assert until is not None
    assert until - datetime.now(UTC) <= timedelta(seconds=6)
    assert day_of(store, org, 10).exhausted_at is None


def test_money_that_a_dead_worker_holds_makes_nobody_wait_for_it(
    store: Database, org: UUID, database: Connection
) -> None:
    job, dead = holder(store, org), holder(store, org)
    reserve(store, dead, 8, 10)
    lose_claim(database, dead)
    refusal = refuse(store, job, 5, 10)
    assert refusal is not None
    assert refusal.parked


def test_a_refusal_that_is_out_of_date_closes_nothing(store: Database, org: UUID, database: Connection) -> None:
    job = holder(store, org)
    assert reserve(store, job, 11, 10) is None
    with store.ledger() as tx:
        spending.set_daily(tx, org, 20, MODEL, by="ada")
    assert refuse(store, job, 11, 10) is None
    assert gate_of(database, org) is None


def test_a_budget_that_is_raised_during_a_refusal_opens_the_gate_after_it(
    store: Database, org: UUID, database: Connection
) -> None:
    job = holder(store, org)

    def raise_budget() -> None:
        with patient(store.ledger()) as tx:
            spending.set_daily(tx, org, 20, MODEL, by="ada")

    with ThreadPoolExecutor(1) as thread:
        with store.ledger() as tx:
            assert spending.refuse(tx, job, 11, MODEL, default_daily=10) is not None
            raised = thread.submit(raise_budget)
            eventually(waits_for_a_lock(database), within=20, describe="the operator to wait for the refusal")
        raised.result(timeout=20)
    assert not is_closed(database, org)


def waits_for_a_lock(database: Connection) -> Callable[[], bool]:
    query = (
        "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')"
    )
    return lambda: bool((database.execute(query).fetchone() or (False,))[0])


def test_the_gate_keeps_the_orgs_jobs_that_need_the_model_and_no_others(
    store: Database, org: UUID, database: Connection
) -> None:
    other = make_org(database, "another org")
    refuse(store, holder(store, org), 11, 10)
    asking, silent = enqueue_one(store, org, "probe.asking"), enqueue_one(store, org, "probe.silent")
    neighbour = enqueue_one(store, other, "probe.asking")
    with store.ledger() as tx:
        claims = ledger.claim(tx, [asking, silent, neighbour], make_worker(store).worker_id, lease=LEASE)
    assert {job.job_id for job in claims.jobs} == {silent, neighbour}
    assert claims.refused == {asking: "gated"}


def test_a_tenant_sees_its_own_day(store: Database, org: UUID) -> None:
    refuse(store, holder(store, org), 11, 10)
    today = datetime.now(UTC).date()
    with store.tenant(org) as tx:
        assert spending.exhausted_on(tx, today)
    with store.tenant(uuid4()) as tx:
        assert not spending.exhausted_on(tx, today)

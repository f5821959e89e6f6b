"""PostgreSQL restarted under load: the workers wait for it, and no job is lost (P1)."""

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import SystemRandom
from uuid import UUID

import pytest
from celery import Celery
from pydantic import SecretStr

from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.postgres.migrate import upgrade
from storage.postgres.writes import STANDBY
from tests.doubles.probe_jobs import Turn, Visit
from tests.fleet.fleet import Fleet
from tests.fleet.test_producers import contract
from tests.waiting import eventually


def test_postgres_restarted_under_load_loses_nothing(
    fleet_with_own_postgres: Fleet, own_postgres: PostgresServer
) -> None:
    fleet = fleet_with_own_postgres
    workers = [fleet.worker("one", concurrency=4), fleet.worker("two", pool="prefork")]
    for worker in workers:
        worker.ready()
    jobs = [Turn(account_id=str(n)).job(org_id=fleet.org) for n in range(200)]
    job_ids = fleet.enqueue_many(jobs)
    eventually(lambda: len(fleet.outside.lines("leaves")) > 20, within=30, describe="the work to be under way")
    own_postgres.restart()
    assert fleet.wait_for_end(job_ids, within=60) == {"succeeded": 200}
    assert all(worker.alive for worker in workers)
    fleet.check()


def have_run(fleet: Fleet, jobs: int) -> bool:
    """Whether so many jobs have come to an end."""
    return len(fleet.outside.lines("leaves")) >= jobs


def test_postgres_killed_under_load_loses_nothing(fleet_with_own_postgres: Fleet, own_postgres: PostgresServer) -> None:
    """Five times at moments that nobody chose: each takes commits back that did not wait for the disk."""
    fleet = fleet_with_own_postgres
    workers = [fleet.worker("one", concurrency=4), fleet.worker("two", pool="prefork")]
    for worker in workers:
        worker.ready()
    job_ids = fleet.enqueue_many([Turn(account_id=str(n)).job(org_id=fleet.org) for n in range(300)])
    for moment in sorted(SystemRandom().sample(range(10, 250), 5)):
        sys.stdout.write(f"killed when {moment} jobs had run\n")
        eventually(partial(have_run, fleet, moment), within=60, describe="the work to go on")
        own_postgres.kill()
        own_postgres.start()
    assert fleet.wait_for_end(job_ids, within=60) == {"succeeded": 300}
    assert all(worker.alive for worker in workers)
    fleet.check()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_restart_of_postgres_costs_the_jobs_of_an_idle_worker_no_attempt(
    fleet_with_own_postgres: Fleet, own_postgres: PostgresServer, pool: str
) -> None:
    fleet = fleet_with_own_postgres
    worker = fleet.worker(concurrency=1, pool=pool)
    worker.ready()
    assert fleet.wait_for_end([fleet.enqueue(Visit(then="transaction"))]) == {"succeeded": 1}
    own_postgres.restart()
    fleet.client.database.dispose()  # the test's own connections ended too
    job_id = fleet.enqueue(Visit(then="transaction"))
    assert fleet.wait_for_end([job_id], within=60) == {"succeeded": 1}
    assert fleet.ask("select attempt from jobs where id = %s", job_id) == [(1,)]
    fleet.check()


def test_a_foreign_job_that_comes_while_postgres_is_away_is_adopted_later(
    fleet_with_own_postgres: Fleet, own_postgres: PostgresServer
) -> None:
    fleet = fleet_with_own_postgres
    worker = fleet.worker(pool="prefork")
    worker.ready()
    sent = contract(fleet.org)
    own_postgres.stop()
    with Celery("foreign", broker=fleet.broker_url) as foreign:
        foreign.send_task("probe_jobs.noop", kwargs=sent, queue="default")
    worker.wait_for_log("ledger_unavailable")
    own_postgres.start()
    assert fleet.wait_for_end([UUID(sent["job_id"])]) == {"succeeded": 1}
    fleet.check()


def databases(fleet: Fleet) -> list[str]:
    """What each worker reports about PostgreSQL to `celery -A tasks inspect ledger`."""
    with Celery("operator", broker=fleet.broker_url) as operator:
        answers = operator.control.broadcast("ledger", reply=True, timeout=2)
    return [said["database"] for answer in answers for said in answer.values()]


def test_an_absence_of_postgres_longer_than_a_lease_leaves_no_job_behind(
    fleet_with_own_postgres: Fleet, own_postgres: PostgresServer
) -> None:
    fleet = fleet_with_own_postgres
    worker = fleet.worker(concurrency=4, POSTROOM_LEASE_S="1")
    worker.ready()
    job_ids = [fleet.enqueue(Visit(gate="go", account_id=str(n))) for n in range(3)]
    fleet.wait_for_line("waits", times=3)
    own_postgres.stop()
    fleet.outside.open_gate("go")
    # One attempt to connect per second, and the lease lasts one second.
    eventually(lambda: worker.logs().count("lease_not_renewed") >= 4, within=20, describe="long waiting")
    eventually(lambda: databases(fleet) == ["away"], within=20, describe="the worker to say what it waits for")
    own_postgres.start()
    assert fleet.wait_for_end(job_ids) == {"succeeded": 3}
    fleet.check()


def test_a_server_that_takes_no_writes_is_waited_for_and_no_claim_is_lost(broker_url: str, tmp_path: Path) -> None:
    """It came back as a standby, and is promoted later; a worker begins meanwhile."""
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer(tmp_path / "postgres"))
        upgrade(Settings(database_url=SecretStr(server.url())))
        fleet = Fleet(server.url(), broker_url, tmp_path, stack)
        worker = fleet.worker("one", concurrency=4)
        worker.ready()
        job_ids = [fleet.enqueue(Visit(gate="go", account_id=str(n))) for n in range(2)]
        fleet.wait_for_line("waits", times=2)
        server.become_standby()
        fleet.client.database.dispose()  # the test's own connections ended too
        fleet.outside.open_gate("go")
        worker.wait_for_log(STANDBY.finding)
        later = fleet.worker("two", concurrency=1)
        later.wait_for_log(STANDBY.finding)
        server.promote()
        assert fleet.wait_for_end(job_ids, within=60) == {"succeeded": 2}
        later.ready()
        assert [fleet.ask("select attempt from jobs where id = %s", job_id) for job_id in job_ids] == [[(1,)]] * 2
        assert worker.alive
        assert [line for line in (worker.logs() + later.logs()).splitlines() if "Traceback" in line] == []
        fleet.check()

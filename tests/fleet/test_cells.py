"""Two fleets on two ledgers and two brokers: an org moves with its backlog while a service keeps enqueueing for it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from uuid import UUID

import psycopg
import pytest
from celery import Celery, states

from domain.jobs.job import NewJob
from engine.results.metas import status_of
from operations.orgs import moves
from operations.orgs.moves import MoveStep, Patience
from sandbox.servers.valkey_server import ValkeyServer
from storage.jobs import results
from tests.doubles.probe_jobs import Chatty, Noop, Perilous, Turn, Visit
from tests.fleet.fleet import Fleet, wait_until_ready
from tests.fleet.test_producers import contract
from tests.operations.orgs.moves.two_cells import BY, THERE, TwoCells, rows_of, two_cells
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database
from tests.waiting import eventually

SECONDS_LATER = 3


class Service:
    """A service that enqueues for an org by SQL, one job after another, in whichever cell takes it."""

    def __init__(self, here: Fleet, there: Fleet, org_id: UUID) -> None:
        self.taken: dict[str, list[UUID]] = {here.database_url: [], there.database_url: []}
        self.came_again = 0
        self.refusals: list[str] = []
        self._urls = iter((here.database_url, there.database_url))
        self._org_id = org_id
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._enqueue)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _enqueue(self) -> None:
        url = next(self._urls)
        while not self._stop.is_set():
            with psycopg.connect(url, autocommit=True) as ledger:
                try:
                    query = "select postroom.enqueue('probe_jobs.noop', %s)"
                    (job_id,) = ledger.execute(query, (self._org_id,)).fetchone() or (None,)
                    self.taken[url].append(UUID(str(job_id)))
                except psycopg.errors.LockNotAvailable:
                    self.came_again += 1
                except psycopg.Error as error:
                    self.refusals.append(str(error).partition("\n")[0])
                    url = next(self._urls)
            self._stop.wait(0.02)


@pytest.fixture
def fleets(
    servers: SessionServers, database_url: str, broker_url: str, own_valkey: ValkeyServer, tmp_path: Path
) -> Iterator[tuple[Fleet, Fleet, TwoCells]]:
    """A fleet in each cell, without workers yet; the outside world is one."""
    with temporary_database(servers, template=TEMPLATE, named="there") as there_url, ExitStack() as stack:
        there = Fleet(there_url, own_valkey.url(), tmp_path, stack)
        here = Fleet(database_url, broker_url, tmp_path, stack)
        cells = two_cells(here.client.database, database_url, there_url, here.client.sealer)
        yield here, there, stack.enter_context(cells)


def backlog(org_id: UUID) -> list[NewJob]:
    """Jobs that wait: for a turn, for a concurrency key, for their time; and some that fail at first."""
    later = datetime.now(UTC) + timedelta(seconds=SECONDS_LATER)
    return [
        *(Noop().job(org_id=org_id) for _ in range(40)),
        *(Turn(account_id="one").job(org_id=org_id) for _ in range(10)),
        *(Chatty(word=str(number)).job(org_id=org_id) for number in range(5)),
        *(Noop().job(org_id=org_id, run_at=later) for _ in range(5)),
    ]


def test_a_mixed_backlog_moves_while_a_service_enqueues(fleets: tuple[Fleet, Fleet, TwoCells]) -> None:
    """P1, P2 and P3: nothing is lost, nothing runs twice, and the effect in doubt is found out, not repeated."""
    here, there, cells = fleets
    wait_until_ready(here.worker(), there.worker("two"))
    done = here.enqueue_many([Noop().job(org_id=here.org) for _ in range(10)])
    here.wait_for_end(done)
    held = [here.enqueue(Visit(gate="later")), here.enqueue(Perilous(key="once", end="wait"))]
    here.wait_for_line("waits", held[0])
    here.wait_for_line("call", "once")
    waiting = here.enqueue_many(backlog(here.org))
    with Service(here, there, here.org) as service:
        eventually(lambda: len(service.taken[here.database_url]) > 5, describe="the service to be served")
        patience = Patience(drained_within_s=0.5)
        moved = moves.move(cells.cells, str(here.org), by=BY, patience=patience)
        here.outside.open_gate("later")
        here.outside.open_gate("once")
        eventually(lambda: len(service.taken[there.database_url]) > 5, describe="the service to be served there")
    assert service.refusals == [f"org_id: names an org of the cell {THERE}"]
    assert moved.given_back == len(held)
    all_jobs = [*done, *held, *waiting, *service.taken[here.database_url], *service.taken[there.database_url]]
    assert there.wait_for_end(all_jobs) == {"succeeded": len(all_jobs)}
    assert there.ask("select count(*) from jobs where org_id = %s", here.org) == [(len(all_jobs),)]
    twice = "select job_id from audit_log where event = 'job.succeeded' group by job_id having count(*) > 1"
    assert there.ask(twice) == []
    assert len(here.outside.lines("call once")) == 1
    # The call that went on where it had begun has ended, and its worker could record that in the log alone.
    eventually(
        lambda: here.ask("select event from audit_entries where org_id = %s", here.org) == [("effect.unrecorded",)],
        describe="the late end of the call",
    )
    assert [name for name, rows in rows_of(cells.here, here.org).items() if rows] == ["audit_entries"]
    there.check()
    here.check()


@pytest.mark.parametrize("step", [MoveStep.CLOSED, MoveStep.COPIED, MoveStep.LEFT])
def test_jobs_run_in_one_cell_however_often_the_move_is_cut_off(
    fleets: tuple[Fleet, Fleet, TwoCells], step: MoveStep
) -> None:
    here, there, cells = fleets
    wait_until_ready(here.worker(), there.worker("two"))
    waiting = here.enqueue_many([Turn(account_id="one").job(org_id=here.org) for _ in range(40)])

    def cut_off(reached: MoveStep) -> None:
        if reached is step:
            raise InterruptedError

    for _ in range(2):
        with pytest.raises(InterruptedError):
            moves.move(cells.cells, str(here.org), by=BY, done=cut_off)
        if step is MoveStep.LEFT:
            break
    moves.move(cells.cells, str(here.org), by=BY)
    assert there.wait_for_end(waiting) == {"succeeded": len(waiting)}
    entered = [job_id for _, _, job_id in here.outside.lines("enters one")]
    assert sorted(entered) == sorted(map(str, waiting)), "each has run once"
    there.check()


def test_what_comes_by_the_old_broker_runs_nothing_and_hears_of_the_cell(fleets: tuple[Fleet, Fleet, TwoCells]) -> None:
    """Hints and a job that lie in the broker, a job that is sent while the org is closed, and one sent afterwards."""
    here, there, cells = fleets
    there.worker("two").ready()
    jobs = here.enqueue_many([Noop().job(org_id=here.org) for _ in range(5)])
    (other,) = here.ask("insert into orgs (name) values ('another') returning id")[0]
    with Celery("billing", broker=here.broker_url) as service:
        sent = [send(service, here.org)]

        def begin_to_work(step: MoveStep) -> None:
            if step is MoveStep.CLOSED:
                worker = here.worker()
                worker.ready()
                sent.append(send(service, here.org))
                eventually(lambda: "adoptions_put_off" in worker.logs(), within=30, describe="messages to be put off")

        moves.move(cells.cells, str(here.org), by=BY, done=begin_to_work)
        sent.append(send(service, here.org))
        assert here.wait_for_end([UUID(send(service, other))]) == {"succeeded": 1}
    refused = "select task_id, field, reason from refused_messages order by task_id"
    expected = [(task_id, "org_id", f"names an org of the cell {THERE}") for task_id in sorted(sent)]
    eventually(lambda: here.ask(refused) == expected, within=30, describe="the refusals of three messages")
    assert there.wait_for_end(jobs) == {"succeeded": len(jobs)}
    assert here.ask("select count(*) from jobs where org_id = %s", here.org) == [(0,)]
    assert [result_in(fleet, str(jobs[0])) for fleet in (here, there)] == [states.PENDING, states.SUCCESS]
    assert [result_in(here, task_id) for task_id in sent] == [states.FAILURE] * len(sent)
    there.check()


def send(service: Celery, org_id: UUID) -> str:
    """Send a job as a service does that has Celery alone; returns its id."""
    job = contract(org_id)
    service.send_task("probe_jobs.noop", kwargs=job, queue="default", task_id=job["job_id"])
    return str(job["job_id"])


def result_in(fleet: Fleet, task_id: str) -> str:
    """What a client of Celery's finds in a cell."""
    with fleet.client.database.ledger() as tx:
        return status_of(results.find(tx, task_id, within=timedelta(seconds=5)))

"""A scenario prepared once and run many times, each time in a database and mailboxes as they were before."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import redis
from psycopg import Connection
from pydantic import SecretStr
from sqlalchemy.exc import SQLAlchemyError

from domain.jobs.failures import Failure
from domain.jobs.job import Hint
from domain.jobs.scheduling.backlog_demand import Demand
from engine.catalogue import Job, catalogue
from engine.relay.backlog import QUEUES
from engine.relay.broker import KEY
from engine.relay.relay import Relay
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from settings import Settings
from tests.doubles.factories import pass_time
from tests.doubles.inline_worker import InlineWorker, Station, bearing_worker
from tests.doubles.mail_environment import OWNER, environment_at
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database
from tests.sweep.boundaries import DEADLY, OUTRUNNING, Died, Point, Watch
from tests.sweep.instrumentation import WatchedDatabase, WatchedPublisher
from tests.sweep.outside import Outside
from tests.sweep.scenarios import Scenario
from tests.sweep.snapshot import Snapshot, keep

ROUND = timedelta(seconds=61)
"""What goes by in one round of recovery: longer than a lease, and than the hint timeout."""
SHORT_DEADLINE = timedelta(seconds=50)
"""The deadline of a job that outruns it: over in one round, and longer than the trial."""

END_OPEN_TRANSACTIONS = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'
"""
"""What PostgreSQL does by itself to a process that stands still in a transaction (`statement_timeout_s`)."""

MOST_ROUNDS = 12
TOKENS = {OWNER: ("access-1", "refresh-1")}


def job_type_of(name: str) -> Job[Any]:
    """A job type that the fleet knows."""
    found = catalogue.find(name)
    assert found is not None, name
    return found


@dataclass
class Trial:
    """One run of a scenario, in a database and a mailbox that nothing was done to before."""

    outside: Outside
    settings: Settings
    database: Connection[Any]
    job_id: UUID
    job_type: Job[Any]
    bears: bool = False
    """Whether the processes have slots for what their jobs enqueue."""
    hints: deque[Hint] = field(default_factory=deque)
    demand: deque[tuple[str, Demand]] = field(default_factory=deque)
    """What the relay asks for out of the backlog, with its queue."""
    premature: list[Hint] = field(default_factory=list)
    """Hints of jobs that nobody else could see when they were published."""
    end: str = ""
    """What became of the disturbed attempt."""
    hung_for: timedelta = timedelta()
    """How long the disturbed process has hung; its monotonic clock went on."""
    stations: set[Station] = field(default_factory=set)
    """What the job went through, in the disturbed attempt or in the recovery."""

    def run(self, point: Point | None = None) -> Watch:
        """Run the job in a process until its end, or until it goes wrong at the point."""
        watch = Watch(point)
        instrumentation = WatchedDatabase(watch)
        process = self.process(watch, monotonic=lambda: time.monotonic() + self.hung_for.total_seconds())
        watch.die = instrumentation.cut
        watch.stand_still = lambda: self._others_finish(process)
        if point is not None and point.fault in OUTRUNNING:
            self.database.execute("update jobs set deadline = %s where id = %s", (SHORT_DEADLINE, self.job_id))
            watch.stand_still = lambda: self._others_finish_after_the_deadline(process)
        self.outside.watch = watch
        try:
            with instrumentation.watching():
                self.end = self._run_hint(process, self.hint, watch)
        except Died:
            self.end = "died"
        except (SQLAlchemyError, psycopg.Error, Failure) as error:
            self.end = "died" if watch.dead else f"escaped: {type(error).__name__}"
        finally:
            self.outside.watch = None
            process.close()
        if point is None or point.fault not in DEADLY:
            self._check_that_nothing_is_held(process)
        return watch

    def recover(self, *, alive: Sequence[Runtime] = ()) -> None:
        """What the rest of the fleet does: hints come, time goes by, the relay rescues and publishes.

        Processes that are `alive` renew their leases meanwhile.
        """
        self.hints.append(self.hint)
        survivor = self.process(Watch(resting=True))
        relay = Relay(survivor)
        try:
            for _ in range(MOST_ROUNDS):
                self._deliver(survivor)
                if not self.open_jobs():
                    return
                pass_time(self.database, ROUND)
                for living in (survivor, *alive):
                    renew(living)
                relay.turn()
                self._empty_broker()  # nobody consumes it here, and a full window would keep the backlog back
                relay.feed()
        finally:
            install(None)
            survivor.close()

    def _empty_broker(self) -> None:
        with redis.Redis.from_url(self.settings.broker_url.get_secret_value()) as broker:
            broker.delete(*QUEUES)

    def process(self, watch: Watch, *, monotonic: Callable[[], float] = time.monotonic) -> Runtime:
        """A process of the fleet, its lease fresh."""
        made = Runtime(self.settings, monotonic=monotonic, jitter=lambda: 0.0)
        broker_url = self.settings.broker_url.get_secret_value()
        made.publisher = WatchedPublisher(broker_url, watch, self._told, self._demanded)
        install(made)
        renew(made)
        return made

    @property
    def hint(self) -> Hint:
        """What the broker says of the job."""
        return Hint(self.job_id, self.job_type.name, self.job_type.queue.value)

    def _run_hint(self, process: Runtime, hint: Hint, watch: Watch | None = None) -> str:
        """Run the job that a hint names as a worker does, and note what the trial's own job goes through."""

        def passed(station: Station) -> None:
            if hint.job_id == self.job_id:
                self.stations.add(station)
            if watch is not None:
                watch.station = station

        begin = bearing_worker if self.bears else InlineWorker
        return begin(process, deadly=(Died,), passed=passed).run(hint)

    def open_jobs(self) -> int:
        """How many jobs have no final state."""
        row = self.database.execute("select count(*) from jobs where finished_at is null").fetchone()
        assert row is not None
        return int(row[0])

    def state(self) -> str:
        """The state of the trial's own job."""
        row = self.database.execute("select state from jobs where id = %s", (self.job_id,)).fetchone()
        assert row is not None
        return str(row[0])

    def _check_that_nothing_is_held(self, process: Runtime) -> None:
        row = self.database.execute(
            "select state from jobs where worker_id = %s", (process.worker.worker_id,)
        ).fetchone()
        if row is not None:
            self.end = f"left {row[0]} by a living process ({self.end})"

    def _others_finish(self, frozen: Runtime) -> None:
        self._pass_round()
        self.recover()
        frozen.lease.renewed_at = time.monotonic() - ROUND.total_seconds()
        self.hung_for += ROUND
        install(frozen)

    def _others_finish_after_the_deadline(self, late: Runtime) -> None:
        self._pass_round()
        renew(late)
        self.recover(alive=[late])
        self.hung_for += ROUND
        install(late)

    def _pass_round(self) -> None:
        """Let a round go by for a process that stands still; its rows are not locked for so long."""
        self.database.execute(END_OPEN_TRANSACTIONS)
        pass_time(self.database, ROUND)

    def _deliver(self, survivor: Runtime) -> None:
        while self.hints or self.demand:
            if self.hints:
                self._run_hint(survivor, self.hints.popleft())
            else:
                self._run_demand(survivor, *self.demand.popleft())

    def _run_demand(self, survivor: Runtime, queue: str, demand: Demand) -> None:
        """Run what demand brings; the trial's own job is noted as with a hint, if it was among it."""
        passed: set[Station] = set()
        if InlineWorker(survivor, deadly=(Died,), passed=passed.add).run_demand(queue, demand, self.job_id):
            self.stations |= passed

    def _demanded(self, queue: str, parts: Sequence[Demand]) -> None:
        self.demand.extend((queue, part) for part in parts)

    def _told(self, hints: Sequence[Hint]) -> None:
        ids = [hint.job_id for hint in hints]
        known = {row[0] for row in self.database.execute("select id from jobs where id = any(%s)", (ids,))}
        self.premature += [hint for hint in hints if hint.job_id not in known]
        self.hints.extend(hints)


@dataclass
class Fixture:
    """A scenario, prepared: the rows and the mailboxes to bring back, the job to run."""

    outside: Outside
    settings: Settings
    snapshot: Snapshot
    job_id: UUID
    job_type: Job[Any]
    bears: bool

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """Everything as it was when the scenario was prepared, as far from now."""
        self.snapshot.put_back()
        self.outside.bring_back(TOKENS)
        empty_broker(self.settings.broker_url.get_secret_value())
        yield Trial(self.outside, self.settings, self.snapshot.owner, self.job_id, self.job_type, self.bears)


def empty_broker(broker_url: str) -> None:
    """The broker as the ledger knows it, with no call counted: a sweep is quicker than an account may be."""
    with redis.Redis.from_url(broker_url) as broker:
        broker.flushdb()
        broker.set(KEY, "the broker of the sweep")


@contextmanager
def prepared(servers: SessionServers, outside: Outside, broker_url: str, scenario: Scenario) -> Iterator[Fixture]:
    """Prepare a scenario once: its job is queued and its hint is out."""
    job_type = job_type_of(scenario.job_type)
    empty_broker(broker_url)
    with (
        temporary_database(servers, template=TEMPLATE) as url,
        psycopg.connect(url, autocommit=True) as database,
    ):
        plain = Settings(database_url=SecretStr(url), broker_url=SecretStr(broker_url))
        settings = outside.tapped.settings(plain)
        outside.reset()
        with environment_at(outside.addresses(), settings, database) as env:
            job_id = scenario.prepare(env)
            relay = Relay(env.process)
            relay.turn()
            relay.feed()
            settings = env.process.settings  # a scenario may have changed them
        outside.keep()
        yield Fixture(outside, settings, keep(database), job_id, job_type, scenario.bears)

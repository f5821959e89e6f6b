"""What a process holds while it runs: settings, database, publisher, lease. Made on first use, never over a fork."""

import os
import random
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar
from uuid import uuid4

from domain.jobs.queues import BrokerNames
from domain.jobs.scheduling.limits import check_amounts
from engine.broker.births import Births
from engine.broker.metering import Meters
from engine.broker.publisher import Publisher
from engine.clocks import DatabaseClock, TurnAge, steady
from observability import traces
from settings import CLAIM_MARGIN, Settings, load
from storage.jobs.ledger import Worker, read_time
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from storage.postgres.shared_double import SharedDouble

NODE_ID = uuid4()
"""One worker command and the children it forks; inherited over the fork."""

WORKER_ID = uuid4()
"""Whose claims this worker command's jobs are: the parent's, whichever child runs them."""


class Lease:
    """How long this worker command may count on its claims; its children see each renewal.

    Its time is the system's steady clock, which is one for all processes of a machine.
    """

    def __init__(self, length: timedelta, renewed_at: SharedDouble | None = None) -> None:
        """Begin with the worker command's last renewal, or with a fresh lease of this process's own."""
        self.length = length
        self._renewed_at = renewed_at or SharedDouble(steady())

    @property
    def renewed_at(self) -> float:
        """When the last renewal that was committed began."""
        return self._renewed_at.value

    @renewed_at.setter
    def renewed_at(self, at: float) -> None:
        self._renewed_at.value = at

    def margin(self) -> timedelta:
        """What is left of the lease; negative when it has run out."""
        return self.length - timedelta(seconds=steady() - self.renewed_at)


class StopFlag:
    """A flag that a worker command shares with the children it forks."""

    def __init__(self) -> None:
        """Start unset."""
        self._raised = SharedDouble()

    def set(self) -> None:
        """Raise the flag, for good."""
        self._raised.value = 1.0

    def is_set(self) -> bool:
        """Whether the worker stops."""
        return bool(self._raised.value)


NODE_STOP_FLAG = StopFlag()
"""This worker command's; inherited over the fork like its id."""

NODE_LEASE = SharedDouble()
"""When this worker command's lease was renewed; before the first renewal, long ago."""

NODE_CLOCK = SharedDouble()
"""What this worker command knows of PostgreSQL's clock; inherited over the fork."""


T = TypeVar("T")


class Runtime:
    """The process's own objects. Tests build one with what they want to control."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = steady,
        jitter: Callable[[], float] = random.random,
        node: bool = False,
    ) -> None:
        """Prepare for a process, of this worker command (`node`) or alone; nothing connects yet.

        `clock` is the machine's own, which `doctor` compares with the database's and nothing else looks at. `monotonic`
        tells effects, in seconds, how much is left of their job's deadline.

        Raises `Invalid` for a setting that no job could work with.
        """
        check_amounts(settings.rate_limits)
        self.settings = settings
        self.machine_clock = clock
        self.monotonic = monotonic
        self.database_clock = DatabaseClock(self._ask_time, NODE_CLOCK if node else None)
        self.clock: Callable[[], datetime] = self.database_clock
        self.jitter = jitter
        self.worker = Worker(WORKER_ID if node else uuid4(), NODE_ID, socket.gethostname(), os.getpid())
        self.lease = Lease(timedelta(seconds=settings.lease_s), NODE_LEASE if node else None)
        self.stopping = NODE_STOP_FLAG if node else StopFlag()
        self.turn_age = TurnAge()
        self.births = Births(self.worker.worker_id, self.lease.length)
        self._sharing = threading.RLock()  # what is made may itself need a shared object
        self._shared: dict[str, Any] = {}

    @property
    def broker_names(self) -> BrokerNames:
        """What the queues are called in the broker."""
        return BrokerNames(self.settings.queue_prefix)

    @property
    def hint_timeout(self) -> timedelta:
        """How long a published hint may stay unclaimed."""
        return timedelta(seconds=self.settings.hint_timeout_s)

    @cached_property
    def database(self) -> Database:
        """This process's connections."""
        return Database(self.settings)

    @property
    def call_time(self) -> timedelta:
        """What must be left of a claim right before a call to the outside: the longest call, and time to record it."""
        return timedelta(seconds=self.settings.provider_call_limit_s) + self.lease.length * CLAIM_MARGIN

    def _ask_time(self) -> datetime:
        with self.database.statements() as tx:
            return read_time(tx)

    @cached_property
    def sealer(self) -> Sealer:
        """What opens and seals tokens."""
        return Sealer.of(self.settings)

    @cached_property
    def meters(self) -> Meters:
        """What every client of a provider asks before each call."""
        return Meters.of(self.settings)

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """This process's one object of that key, made by the first thread that asks.

        A key stands for one type of object. What `make` raises is raised, and the next to ask tries again.
        """
        with self._sharing:
            if key not in self._shared:
                self._shared[key] = make()
            found: T = self._shared[key]
            return found

    def close(self) -> None:
        """Let go of all connections; for tests, a process of the fleet lives until its end."""
        made = vars(self)
        if "publisher" in made:
            made["publisher"].close()
        if "database" in made:
            made["database"].dispose()

    @cached_property
    def publisher(self) -> Publisher:
        """This process's way to the broker."""
        return Publisher(self.settings.broker_url.get_secret_value(), self.broker_names)


_runtime: Runtime | None = None
_making = threading.RLock()  # a signal's handler may ask, and have interrupted who asked before


def runtime() -> Runtime:
    """This process's runtime."""
    global _runtime  # noqa: PLW0603 - one per process is the point
    with _making:
        if _runtime is None:
            _runtime = Runtime(load(), node=True)
            traces.configure(_runtime.settings, "postroom")
        return _runtime


def install(made: Runtime | None) -> None:
    """Use this runtime in this process; None forgets it. For tests and for a fork's child."""
    global _runtime  # noqa: PLW0603 - one per process is the point
    _runtime = made


def _forget_parent() -> None:
    global _making  # noqa: PLW0603 - the parent may have held it at the moment of the fork
    _making = threading.RLock()
    if _runtime is not None and "database" in vars(_runtime):
        _runtime.database.dispose(close=False)
    install(None)


os.register_at_fork(after_in_child=_forget_parent)

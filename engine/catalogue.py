"""The job types: the `@job` decorator, what it keeps of a handler, and how a job of it is made."""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from domain.jobs.job import Enqueued, NewJob, Origin, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import STANDARD, RetryPolicy
from domain.jobs.uniqueness import Unique, keep_key_for
from domain.payloads.payload import Payload, Upcast, read_payload
from engine.context import JobContext
from engine.enqueue import enqueue
from storage.ledger.job_types import JobType
from storage.postgres.database import Transaction

DEADLINE = timedelta(minutes=30)
"""How long an attempt may take when its type says nothing (docs: seeds.md#003-ac-03)."""

P = TypeVar("P", bound=Payload)
Handler = Callable[[JobContext, P], Outcome]


@dataclass(frozen=True, slots=True, eq=False)
class Job(Generic[P]):
    """One job type: its handler and everything the frame must know of it."""

    name: str
    handler: Handler[P]
    payload: type[P]
    queue: Queue
    retry: RetryPolicy
    deadline: timedelta
    unique: Unique | None
    serial_by: str | None
    serial_limit: int
    light: bool
    providers: tuple[str, ...]
    aliases: tuple[str, ...]
    version: int
    upcasts: Mapping[int, Upcast] = field(default_factory=dict)
    on_end: str | None = None

    def new(  # noqa: PLR0913 - the fields of the job contract, by keyword
        self,
        payload: P,
        *,
        org_id: UUID,
        origin: Origin | None = None,
        run_at: datetime | None = None,
        priority: int = 0,
        idempotency_key: str | None = None,
        expires_at: datetime | None = None,
        project_id: UUID | None = None,
    ) -> NewJob:
        """A job of this type, to be enqueued or returned as a child (which inherits org and origin)."""
        return NewJob(
            job_type=self.name,
            org_id=org_id,
            payload=payload.document(),
            payload_version=self.version,
            project_id=project_id,
            origin=origin or Origin(),
            idempotency_key=idempotency_key,
            run_at=run_at,
            expires_at=expires_at,
            priority=priority,
        )

    def enqueue(self, tx: Transaction, *, org_id: UUID, payload: P, **options: Any) -> Enqueued:  # noqa: ANN401 - as `new`
        """Enqueue one job in the caller's transaction; its hint is published after the commit."""
        return self.enqueue_many(tx, [self.new(payload, org_id=org_id, **options)])[0]

    @staticmethod
    def enqueue_many(tx: Transaction, jobs: Sequence[NewJob]) -> tuple[Enqueued, ...]:
        """Enqueue jobs in the caller's transaction in one statement; their hints are published after the commit."""
        return enqueue(tx, jobs)

    def read(self, stored: Mapping[str, Any], version: int) -> P:
        """A stored payload as this worker understands it; raises `Invalid`."""
        return read_payload(self.payload, dict(stored), version, version=self.version, upcasts=self.upcasts)

    def line(self) -> JobType:
        """This type as every door needs to know it."""
        return JobType(
            name=self.name,
            aliases=self.aliases,
            queue=self.queue.value,
            payload_version=self.version,
            payload_schema=self.payload.model_json_schema(),
            max_attempts=self.retry.attempts,
            deadline=self.deadline,
            unique_mode=self.unique.mode.value if self.unique else None,
            unique_fields=self.unique.fields if self.unique else None,
            keep_key_for=keep_key_for(self.unique, self.queue),
            serial_field=self.serial_by,
            serial_limit=self.serial_limit,
            light=self.light,
            providers=self.providers,
            on_end=self.on_end,
        )


class Catalogue:
    """All job types of this process, by name and alias."""

    def __init__(self) -> None:
        """Start empty; importing a family file fills it."""
        self._jobs: dict[str, Job[Any]] = {}
        self._aliases: dict[str, str] = {}

    def add(self, job: Job[Any]) -> None:
        """Take in a job type; a name or alias that is taken is a mistake in the code."""
        for name in (job.name, *job.aliases):
            if name in self._jobs or name in self._aliases:
                raise ValueError(f"two job types are named {name}")
        self._jobs[job.name] = job
        self._aliases |= dict.fromkeys(job.aliases, job.name)

    def find(self, name: str) -> Job[Any] | None:
        """The job type of that name or alias."""
        return self._jobs.get(self._aliases.get(name, name))

    def __iter__(self) -> Iterator[Job[Any]]:
        """All job types, by name."""
        return iter(sorted(self._jobs.values(), key=lambda job: job.name))


catalogue = Catalogue()


def job(  # noqa: PLR0913 - one keyword per fact about a job type
    *,
    queue: Queue,
    retry: RetryPolicy = STANDARD,
    deadline: timedelta = DEADLINE,
    unique: Unique | None = None,
    serial_by: str | None = None,
    serial_limit: int = 1,
    light: bool = False,
    providers: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    version: int = 1,
    upcasts: Mapping[int, Upcast] | None = None,
    on_end: str | None = None,
) -> Callable[[Handler[P]], Job[P]]:
    """Make a function a job type; its name is `<file>.<function>`, its payload the second parameter's annotation.

    At most `serial_limit` jobs with one value of the payload's field `serial_by` are held at once.
    `light` is for jobs of milliseconds: they travel in batches, without a Celery request each.
    `on_end` names the SQL function `postroom.<on_end>(jsonb)` of a migration that is told when a job of this type ends.
    """

    def register(handler: Handler[P]) -> Job[P]:
        made = Job(
            name=f"{handler.__module__.rpartition('.')[2]}.{handler.__name__}",
            handler=handler,
            payload=_payload_of(handler),
            queue=queue,
            retry=retry,
            deadline=deadline,
            unique=unique,
            serial_by=serial_by,
            serial_limit=serial_limit,
            light=light,
            providers=providers,
            aliases=aliases,
            version=version,
            upcasts=upcasts or {},
            on_end=on_end,
        )
        _check_fields(made)
        catalogue.add(made)
        return made

    return register


def _payload_of(handler: Handler[P]) -> type[P]:
    second = list(inspect.signature(handler).parameters)[1]
    model: type[P] = typing.get_type_hints(handler)[second]
    return model


def _check_fields(made: Job[Any]) -> None:
    if made.serial_limit < 1 or (made.serial_limit > 1 and made.serial_by is None):
        raise ValueError(f"{made.name}: a serial_limit needs serial_by and is at least 1")
    named = (made.serial_by, *((made.unique.fields or ()) if made.unique else ()))
    for name in named:
        if name is not None and name not in made.payload.model_fields:
            raise ValueError(f"{made.name}: its payload has no field {name}")
    missing = set(range(1, made.version)) - set(made.upcasts)
    if missing:
        raise ValueError(f"{made.name}: no upcast from version {min(missing)}")

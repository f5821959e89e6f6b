"""The job types of this process: the `@job` decorator and what it keeps of a handler."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any, Generic, TypeVar

from domain.jobs.effects import Finding
from domain.jobs.failures import Failure
from domain.jobs.job import JsonObject, Outcome
from domain.jobs.queues import JobCategory, Queue, category_of
from domain.jobs.retry import STANDARD, RetryPolicy
from domain.jobs.uniqueness import keep_key_for
from domain.payloads.declaration import Declaration
from domain.payloads.own_packages import package_of
from domain.payloads.payload import Payload
from domain.payloads.registry import Registry
from domain.payloads.shape import shape_of
from engine.context import JobContext
from storage.jobs.job_types import JobType
from storage.postgres.database import Transaction
from storage.postgres.logins import TENANT_ROLE

DEADLINE = timedelta(minutes=30)
"""How long an attempt may take when its type says nothing (docs: seeds.md#003-24)."""
LONGEST_DEADLINE = timedelta(days=1)
"""A frozen attempt is taken back no sooner, and old sessions of every org are ended by the longest of all types."""
OFTENEST, SELDOMEST = timedelta(seconds=1), timedelta(days=366)
"""How often a periodic job may be due."""

P = TypeVar("P", bound=Payload)
Handler = Callable[[JobContext, P], Outcome | None]
"""What a job type does; None stands for `Done()` (docs: seeds.md#003-84)."""

Hold = Callable[[Transaction, Any], Failure | None]
"""Locks what a job with this payload writes about, at the head of each of its writing transactions.

Raises what ends the job, and returns what only keeps it from causing effects."""

Finder = Callable[[JobContext, Any, str], Finding]
"""Asks the provider whether an effect of a job with this payload, by its key, happened. Called in another job of the
org, when the job itself has ended."""


@dataclass(frozen=True, slots=True, eq=False)
class Job(Generic[P]):
    """One job type: its payload class, its handler, and where, how often and how long it runs."""

    payload: type[P]
    handler: Handler[P]
    queue: Queue
    retry: RetryPolicy
    deadline: timedelta
    providers: tuple[str, ...]
    on_end: str | None = None
    hears_success: bool = True
    audits: tuple[str, ...] = ()
    finds: Mapping[str, Finder] = field(default_factory=dict)
    holds: Hold | None = None
    role: str = TENANT_ROLE
    every: timedelta | None = None

    def finder(self, key: str) -> Finder | None:
        """Who can ask about the effect of a key; None when nobody can."""
        return self.finds.get(key.partition(":")[0])

    @property
    def declared(self) -> Declaration:
        """What the payload class holds: name, aliases, version, unique key, `serial_by`."""
        return self.payload.declaration

    @property
    def name(self) -> str:
        """The file and the function of the handler."""
        return self.payload.declaration.job_type

    @property
    def category(self) -> JobCategory:
        """What kind of work it is."""
        return category_of(self.name, self.queue)

    def read(self, stored: Mapping[str, Any], version: int) -> P:
        """A stored payload as this worker understands it; raises `Invalid`."""
        return self.payload.read(dict(stored), version)

    def line(self) -> JobType:
        """This type as every producer needs to know it."""
        declared = self.declared
        unique = declared.unique
        return JobType(
            name=declared.job_type,
            aliases=declared.aliases,
            queue=self.queue.value,
            payload_version=declared.version,
            payload_shape=_shape_of(self.payload),
            max_attempts=self.retry.attempts,
            deadline=self.deadline,
            unique_mode=unique.mode.value if unique else None,
            unique_fields=unique.fields if unique else None,
            keep_key_for=keep_key_for(unique, self.category),
            serial_field=declared.serial_by,
            serial_limit=declared.serial_limit,
            providers=self.providers,
            on_end=self.on_end,
            hears_success=self.hears_success,
            audits=self.audits,
            asked_by=declared.asked_by,
            package=package_of(self.payload),
        )


@cache
def _shape_of(payload: type[Payload]) -> JsonObject:
    """The shape of a payload, made once per process: its JSON Schema takes milliseconds for each class."""
    return shape_of(payload.model_json_schema())


catalogue: Registry[Job[Any]] = Registry()
"""All job types of this process, by name and alias. Importing a family's file fills it."""


def job(  # noqa: PLR0913  # the facts of a job type, by keyword
    *,
    queue: Queue,
    retry: RetryPolicy = STANDARD,
    deadline: timedelta = DEADLINE,
    providers: tuple[str, ...] = (),
    on_end: str | None = None,
    hears_success: bool = True,
    audits: tuple[str, ...] = (),
    finds: Mapping[str, Finder] | None = None,
    holds: Hold | None = None,
    role: str = TENANT_ROLE,
    every: timedelta | None = None,
) -> Callable[[Handler[P]], Job[P]]:
    """Make a function the handler of a job type. Its second parameter's payload class names the type.

    The type's name is `<file>.<function>`; raises `TypeError` when the payload class says otherwise. `on_end`
    names the end-of-job hook, the SQL function `postroom.<on_end>(jsonb)` of a migration called in the transaction that
    ends a job of this type; without `hears_success`, any other way than by a success.
    `audits` lists the events that the handler may append to the audit log; the database refuses others. `finds` says,
    by the first word of an effect's key, how its provider is asked when a job of this type has ended in doubt.
    `holds` locks what its jobs write about. `role` is the login of the handler's transactions: as `AUDITOR_ROLE` they
    may write details of the audit log and nothing else, so that `Done(writes=…)`, which settles the job, is refused.
    `every` makes the job periodic, once for the fleet; the fleet's own are lines of `beat_schedule.py`. Raises
    `ValueError` for a queue that there is not, and for times that cannot be.
    """

    def register(handler: Handler[P]) -> Job[P]:
        payload = _payload_of(handler)
        if inspect.iscoroutinefunction(handler):
            raise TypeError(f"{payload.declaration.job_type}: its handler is a coroutine function; jobs run in threads")
        _check_times(payload, deadline, every)
        called = (_queue_of(payload, queue), retry, deadline, providers, on_end, hears_success, audits)
        made = Job(payload, handler, *called, finds or {}, holds, role, every)
        catalogue.add(made.name, made.declared.aliases, made)
        return made

    return register


def _payload_of(handler: Handler[P]) -> type[P]:
    """The payload class of a handler's second parameter."""
    name = f"{handler.__module__.rpartition('.')[2]}.{handler.__name__}"
    parameters = list(inspect.signature(handler).parameters)
    hints = typing.get_type_hints(handler)
    model = hints.get(parameters[1]) if len(parameters) > 1 else None
    if not (isinstance(model, type) and issubclass(model, Payload) and hasattr(model, "declaration")):
        raise TypeError(f"{name}: the second parameter's annotation must be a payload class that names a job type")
    if model.declaration.job_type != name:
        raise TypeError(f"{name}: its payload class {model.__name__} belongs to {model.declaration.job_type}")
    return typing.cast("type[P]", model)


def _queue_of(payload: type[Payload], queue: Queue) -> Queue:
    """The queue; a package without a type checker may name any text."""
    try:
        return Queue(queue)
    except ValueError:
        known = ", ".join(Queue)
        raise ValueError(f"{payload.declaration.job_type}: {queue!r} is no queue; there are {known}") from None


def _check_times(payload: type[Payload], deadline: timedelta, every: timedelta | None) -> None:
    name = payload.declaration.job_type
    _check_time(f"{name}: deadline", deadline, timedelta.resolution, LONGEST_DEADLINE)
    if every is not None:
        _check_time(f"{name}: every", every, OFTENEST, SELDOMEST)
    needed = [field for field, info in payload.model_fields.items() if info.is_required()]
    if every is not None and needed:
        raise ValueError(f"{name}: every makes jobs without a payload, and the payload needs the field {needed[0]}")


def _check_time(what: str, given: timedelta, least: timedelta, most: timedelta) -> None:
    """Refuse a time that cannot be; a package without a type checker may give any value."""
    if not isinstance(given, timedelta):
        raise TypeError(f"{what} must be a timedelta, not {type(given).__name__}")
    if not least <= given <= most:
        raise ValueError(f"{what} is {given}; it may be {least} to {most}")

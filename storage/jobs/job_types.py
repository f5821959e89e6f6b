"""What the workers' catalogue says of each job type, kept where every producer can read it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import NamedTuple

from psycopg.types.json import Jsonb

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.payloads.own_packages import FLEET
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class JobType:
    """One job type as producers need it."""

    name: str
    aliases: tuple[str, ...]
    queue: str
    payload_version: int
    payload_shape: JsonObject
    """What SQL checks of a payload (domain/payloads/shape.py)."""
    max_attempts: int
    deadline: timedelta
    unique_mode: str | None
    unique_fields: tuple[str, ...] | None
    keep_key_for: timedelta
    serial_field: str | None
    serial_limit: int
    providers: tuple[str, ...]
    on_end: str | None = None
    """The function `postroom.<on_end>(jsonb)` that is called in the transaction that ends a job of this type."""
    hears_success: bool = True
    """Whether it is called for a success, too."""
    audits: tuple[str, ...] = ()
    """The events that a handler of this type may append to the audit log."""
    asked_by: str | None = None
    """How services ask for what the jobs do; null where they enqueue the jobs."""
    package: str = FLEET
    """Whose job type it is."""


def publish(tx: Transaction, job_types: Sequence[JobType]) -> None:
    """Write the catalogue; a type that is gone from the code keeps its row, for jobs of it may still be queued.

    Raises `Invalid` for an `on_end` that names no end-of-job hook of a migration, and for a name of another package's.
    """
    lines = Jsonb([_line(kind) for kind in job_types])
    tx.run("publish_job_types", lines=lines)
    for row in tx.run("names_of_other_packages", lines=lines):
        raise Invalid(
            "job_type",
            f"{row.name} takes the name of {row.taken}, which the package {row.package} has in this ledger: give it"
            f" another name; if {row.package} itself has a new name, change job_types.package",
        )


class KnownJobType(NamedTuple):
    """A job type by its names, and whom its jobs call."""

    name: str
    aliases: Sequence[str]
    providers: Sequence[str]


def listed(tx: Transaction) -> Sequence[KnownJobType]:
    """The job types that workers have published: as many as the code has, and had."""
    return [KnownJobType(*row) for row in tx.raw("select name, aliases, providers from job_types order by name")]


class PackageInQueue(NamedTuple):
    """Job types of a package other than the fleet's own in one queue, and who may run them."""

    package: str
    queue: str
    job_types: Sequence[str]
    workers: int
    """Living workers that serve the queue."""
    knowing: int
    """Those of them that have these job types."""


def packages(tx: Transaction) -> Sequence[PackageInQueue]:
    """What workers have published of packages other than the fleet's own."""
    return [PackageInQueue(*row) for row in tx.run("packages_of_queues")]


def is_any_waiting(tx: Transaction, job_types: Sequence[str]) -> bool:
    """Whether a job of these types waits, among those that are looked at soon."""
    return bool(tx.run("is_any_waiting", job_types=list(job_types))[0].found)


def audited(tx: Transaction) -> frozenset[str]:
    """The events that handlers of the job types may append to the audit log."""
    return frozenset(str(row.event) for row in tx.raw("select distinct unnest(audits) as event from job_types"))


def _line(kind: JobType) -> JsonObject:
    """A job type as `publish_job_types` takes it: plain values of JSON."""
    return {one.name: getattr(kind, one.name) for one in fields(kind) if one.name != "payload_shape"} | {
        "deadline": _interval(kind.deadline),
        "keep_key_for": _interval(kind.keep_key_for),
        "payload_shapes": {str(kind.payload_version): kind.payload_shape},
    }


def _interval(span: timedelta) -> str:
    """A span as PostgreSQL reads it; days stay days, for an `interval` of 24 hours is another value."""
    return f"{span.days} days {span.seconds} seconds {span.microseconds} microseconds"

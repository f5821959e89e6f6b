"""What the workers' catalogue says of each job type, kept where every producer can read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from psycopg.types.json import Jsonb

from domain.jobs.job import JsonObject
from domain.payloads.shape import shape_of
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class JobType:
    """One job type as producers need it."""

    name: str
    aliases: tuple[str, ...]
    queue: str
    payload_version: int
    payload_schema: JsonObject
    max_attempts: int
    deadline: timedelta
    unique_mode: str | None
    unique_fields: tuple[str, ...] | None
    keep_key_for: timedelta
    serial_field: str | None
    serial_limit: int
    light: bool
    providers: tuple[str, ...]
    on_end: str | None = None
    """The function `postroom.<on_end>(jsonb)` that is called in the transaction that ends a job of this type."""
    audits: tuple[str, ...] = ()
    """The events that a handler of this type may append to the audit log."""


def publish(tx: Transaction, job_types: Sequence[JobType]) -> None:
    """Write the catalogue; a type that is gone from the code keeps its row, for jobs of it may still be queued.

    Raises `Invalid` for an `on_end` that names no end-of-job hook of a migration.
    """
    for kind in sorted(job_types, key=lambda k: k.name):
        tx.run(
            "publish_job_type",
            name=kind.name,
            aliases=list(kind.aliases),
            queue=kind.queue,
            payload_version=kind.payload_version,
            payload_schema=Jsonb(kind.payload_schema),
            payload_shapes=Jsonb({str(kind.payload_version): shape_of(kind.payload_schema)}),
            max_attempts=kind.max_attempts,
            deadline=kind.deadline,
            unique_mode=kind.unique_mode,
            unique_fields=None if kind.unique_fields is None else list(kind.unique_fields),
            keep_key_for=kind.keep_key_for,
            serial_field=kind.serial_field,
            serial_limit=kind.serial_limit,
            light=kind.light,
            providers=list(kind.providers),
            on_end=kind.on_end,
            audits=list(kind.audits),
        )

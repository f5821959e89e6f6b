"""`celery -A tasks jobs`: `enqueue`, and `show` with a table for each part of a job."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import click

from commands.answers import console, json_object, json_option, operator, operator_option, show_document, show_rows
from commands.operations import AREAS, call_of
from domain.jobs.contract import LONGEST_RETRY_S, MOST_ATTEMPTS, OLDEST_VERSION, parse_time
from domain.jobs.failures import Invalid
from domain.jobs.job import KeysOf
from engine.catalogue import catalogue
from engine.enqueue import enqueue_jobs
from engine.runtime import runtime
from operations.jobs.jobs import show_job
from storage.jobs import payload_names
from storage.orgs import orgs

jobs: click.Group = AREAS.jobs

FIRST = (
    *(
        "id",
        "job_type",
        "state",
        "error",
        "output",
        "payload",
        "queue",
        "attempt",
        "max_attempts",
        "org_id",
        "actor_id",
    ),
    *("created_at", "run_at", "started_at", "finished_at", "parked_by", "cancel_reason", "worker_id", "claimed_at"),
)
"""What an operator looks for in a job; its other columns follow."""
SECTIONS = {
    "events": ("at", "event", "known_as", "attempt", "actor_id", "data"),
    "steps": ("name", "attempt", "at", "cost_microcents", "result"),
    "effects": ("key", "strategy", "status", "last_seen_at", "result", "error"),
    "children": ("job_id", "job_type", "state"),
}
MORE = {
    "events": "the newest are shown",
    "children": "the first are shown; `jobs children` lists all",
}


@jobs.command("enqueue")
@click.argument("job_type")
@click.option("--org", required=True, help="The org's id or name.")
@click.option("--payload", default="{}", help="A JSON object, or - to read it from standard input.")
@click.option(
    "--payload-version",
    type=click.IntRange(1, 1000),
    default=OLDEST_VERSION,
    show_default=True,
    help="The payload's shape.",
)
@click.option("--run-at", help="Not before this RFC 3339 time.")
@click.option("--priority", type=click.IntRange(-100, 100), default=0, help="Higher goes first.")
@click.option(
    "--key", help="Idempotency key: a second request with it is answered with the first job, another one is refused."
)
@click.option("--max-attempts", type=click.IntRange(1, MOST_ATTEMPTS), help="Instead of the job type's.")
@click.option(
    "--retry-base", "retry_base_s", type=click.IntRange(1, LONGEST_RETRY_S), help="Seconds before the first retry."
)
@click.option(
    "--retry-cap", "retry_cap_s", type=click.IntRange(1, LONGEST_RETRY_S), help="Seconds between attempts, at most."
)
@operator_option
@json_option
def enqueue_job(  # noqa: PLR0913, PLR0917 - one parameter per option
    job_type: str,
    org: str,
    payload: str,
    payload_version: int,
    run_at: str | None,
    priority: int,
    key: str | None,
    max_attempts: int | None,
    retry_base_s: int | None,
    retry_cap_s: int | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Enqueue a job of a type after checking its payload."""
    known = catalogue.find(job_type)
    if known is None:
        raise Invalid(
            "job_type", f"{job_type} is no known job type; known are {', '.join(one.name for one in catalogue)}"
        )
    given = known.payload.upcast(json_object(payload, "payload"), payload_version)
    due = parse_time(run_at, "run_at") if run_at else None
    with runtime().database.ledger() as tx:
        org_id = orgs.find(tx, org)
        document = payload_names.resolve(tx, known.payload, given, org_id=org_id, key=key)
        job = known.read(document, known.declared.version).job(
            org_id=org_id,
            origin=operator(operator_name),
            idempotency_key=key,
            run_at=due,
            priority=priority,
            max_attempts=max_attempts,
            retry_base_s=retry_base_s,
            retry_cap_s=retry_cap_s,
        )
        (answer,) = enqueue_jobs(tx, [job._replace(keys_of=KeysOf.CLIENT)])
    document = {"job_id": answer.job_id, "job_type": known.name, "created": answer.created}
    show_document("job", document, as_json=as_json)


@jobs.command("show", help=show_job.text)
@click.argument("job_id", type=click.UUID)
@json_option
def show_timeline(job_id: UUID, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show a job, each part in a table of its own."""
    found = show_job(call_of(None, None), job_id).model_dump()
    if as_json:
        show_document("job", found, as_json=True)
        return
    gone = {"job_id": job_id, "state": "past its retention"}
    show_document("job", _set(found["job"]) if found["job"] else gone, as_json=False)
    for name, columns in SECTIONS.items():
        if not found[name]:
            continue
        console().print(f"\n{name}", style="bold")
        show_rows(found[name], columns, as_json=False)
        if name in found["more"]:
            console().print(f"there are more {name}: {MORE.get(name, 'the first are shown')}")
    if found["dead_letter"]:
        show_document("dead letter", found["dead_letter"], as_json=False)


def _set(job: Mapping[str, Any]) -> dict[str, Any]:
    """A job's columns that say something, those of `FIRST` before the others.

    A count of nothing and a flag that is not raised say nothing, nor does a key or a request that has the job's own id.
    """
    names = dict.fromkeys((*FIRST, *job))
    return {name: job[name] for name in names if job.get(name) and (name == "id" or job[name] != job["id"])}

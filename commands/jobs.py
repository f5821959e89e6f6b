"""`celery -A tasks jobs`: enqueue, look at, cancel and retry jobs."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import click

from commands.answers import (
    FleetGroup,
    console,
    diagnosis_line,
    json_object,
    json_option,
    operator,
    operator_option,
    show_document,
    show_rows,
)
from domain.jobs.contract import LONGEST_RETRY_S, MOST_ATTEMPTS, parse_time
from domain.jobs.failures import Failure, Gone, Invalid
from domain.jobs.job import State
from domain.jobs.queues import Queue
from engine.catalogue import catalogue
from engine.enqueue import enqueue
from engine.runtime import runtime
from storage.ledger import orgs, payload_names
from storage.operators import cancellations, job_views, retries
from storage.operators.job_views import JobFilter

LINE = ("job_id", "job_type", "queue", "state", "attempt", "created_at", "run_at", "reason")
REFUSED = ("at", "task", "task_id", "field", "reason")
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
    "events": ("at", "event", "attempt", "actor_id", "data"),
    "steps": ("name", "attempt", "at", "cost_microcents", "result"),
    "effects": ("key", "strategy", "status", "last_seen_at", "result", "error"),
    "children": ("job_id", "job_type", "state"),
}


@click.group(cls=FleetGroup)
def jobs() -> None:
    """Enqueue, look at, cancel and retry jobs."""


@jobs.command("enqueue")
@click.argument("job_type")
@click.option("--org", required=True, help="The org's id or name.")
@click.option("--payload", default="{}", help="A JSON object, or - to read it from standard input.")
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
        raise _unknown_type(job_type)
    given = json_object(payload, "payload")
    due = parse_time(run_at, "run_at") if run_at else None
    with runtime().database.ledger() as tx:
        org_id = orgs.find(tx, org)
        document = payload_names.resolve(tx, known.payload, given, org_id=org_id)
        answer = enqueue(
            tx,
            known.read(document, known.declared.version),
            org_id=org_id,
            origin=operator(operator_name),
            idempotency_key=key,
            run_at=due,
            priority=priority,
            max_attempts=max_attempts,
            retry_base_s=retry_base_s,
            retry_cap_s=retry_cap_s,
        )[0]
    document = {"job_id": answer.job_id, "job_type": known.name, "created": answer.created}
    show_document("job", document, as_json=as_json)


@jobs.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in State]),
    help="Only this state; may be repeated.",
)
@click.option("--type", "job_type", help="Only this job type.")
@click.option("--queue", type=click.Choice([queue.value for queue in Queue]), help="Only this queue.")
@click.option("--org", help="Only this org: its id or name.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def list_jobs(
    states: tuple[str, ...],
    job_type: str | None,
    queue: str | None,
    org: str | None,
    limit: int,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """List jobs, the newest first."""
    known = None if job_type is None else catalogue.find(job_type)
    with runtime().database.ledger() as tx:
        wanted = JobFilter(states, known.name if known else job_type, queue, orgs.find_named(tx, org))
        found = job_views.listed(tx, wanted, limit=limit)
    if job_type is not None and known is None and not found:
        # Jobs of a type that this release no longer knows are listed; where there are none, the name is a mistake.
        raise _unknown_type(job_type)
    show_rows(found, LINE, as_json=as_json)


@jobs.command("show")
@click.argument("job_id", type=click.UUID)
@json_option
def show_job(job_id: UUID, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show a job: row, timeline, steps, effects, children, dead letter."""
    with runtime().database.ledger() as tx:
        found = job_views.timeline(tx, job_id)
    if found is None:
        raise Gone(f"there is no job {job_id}")
    if as_json:
        show_document("job", found, as_json=True)
        return
    gone = {"job_id": job_id, "state": "past its retention"}
    show_document("job", _ordered(found.job) if found.job else gone, as_json=False)
    for name, columns in SECTIONS.items():
        console().print(f"\n{name}", style="bold")
        show_rows(getattr(found, name), columns, as_json=False)
    if found.dead_letter:
        show_document("dead letter", found.dead_letter, as_json=False)


def _ordered(job: Mapping[str, Any]) -> dict[str, Any]:
    """A job's columns, those of `FIRST` before the others."""
    return {name: job[name] for name in dict.fromkeys((*FIRST, *job)) if name in job}


@jobs.command("refused")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def list_refused(limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List the messages of foreign clients that were refused, the newest first: which field, and why."""
    with runtime().database.ledger() as tx:
        found = job_views.refused(tx, limit=limit)
    show_rows(found, REFUSED, as_json=as_json)


@jobs.command("cancel")
@click.argument("job_ids", type=click.UUID, nargs=-1, required=True)
@click.option("--reason", required=True, help="Why; it is kept with the job.")
@click.option("--no-children", is_flag=True, help="Leave what the jobs have enqueued.")
@operator_option
@json_option
@click.pass_context
def cancel_jobs(
    ctx: click.Context,
    job_ids: tuple[UUID, ...],
    reason: str,
    no_children: bool,  # noqa: FBT001 - a flag of the command line
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Cancel jobs and what they have enqueued: a queued one at once, a running one at its next step.

    Exit status 1 if a job that was named had ended before. One that was canceled before has its descendants looked for
    again.
    """
    by = operator(operator_name)
    canceled = cancellations.cancel(runtime().database, job_ids, reason, by=by, children=not no_children)
    states = {job_id: canceled.asked.get(job_id, "ended before, or unknown") for job_id in job_ids}
    rows = [{"job_id": job_id, "state": state} for job_id, state in (states | canceled.descendants).items()]
    show_rows(rows, ("job_id", "state"), as_json=as_json)
    if set(job_ids) - set(canceled.asked):
        ctx.exit(1)


@jobs.command("retry")
@click.argument("job_ids", type=click.UUID, nargs=-1, required=True)
@click.option("--reason", default="the cause is mended", show_default=True, help="Why; it is kept with the job.")
@operator_option
@json_option
@click.pass_context
def retry_jobs(
    ctx: click.Context,
    job_ids: tuple[UUID, ...],
    reason: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Do failed, canceled or dead jobs again, each under a new id that names the old one. Exit status 1 if one was not.

    A dead job's letter is closed. A mended payload, or a decision about an effect, goes by `deadletters replay`.
    """
    by, rows = operator(operator_name), []
    for job_id in job_ids:
        try:
            with runtime().database.ledger() as tx:
                again = retries.retry(tx, job_id, by=by, reason=reason)
            rows.append({"job_id": job_id, "state": "retried", "new_job_id": again})
        except Failure as failure:
            rows.append({"job_id": job_id, "state": "unchanged", "trouble": diagnosis_line(failure)})
    show_rows(rows, ("job_id", "state", "new_job_id", "trouble"), as_json=as_json)
    if any("trouble" in row for row in rows):
        ctx.exit(1)


def _unknown_type(name: str) -> Invalid:
    return Invalid("type", f"{name} is no known job type; known are {', '.join(known.name for known in catalogue)}")

"""The jobs that foreign clients name, who waits for the result of one, and what the ledger knows of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from domain.jobs.job import Hint, State
from domain.jobs.results import LARGEST_OUTPUT, JobResult
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class DueResult:
    """A result that is to be sent."""

    request_id: int
    task_id: str
    """The id by which the client asks."""
    result: JobResult


def find_hints(tx: Transaction, job_ids: Sequence[UUID]) -> Mapping[UUID, Hint]:
    """Hints of those of the jobs that the ledger has."""
    if not job_ids:
        return {}
    rows = tx.raw("select id, job_type, queue from jobs where id = any (%(ids)s::uuid[])", {"ids": list(job_ids)})
    return {row.id: Hint(row.id, row.job_type, row.queue) for row in rows}


def ask_for(tx: Transaction, asked: Sequence[tuple[UUID, str]], *, is_sent: bool) -> frozenset[UUID]:
    """Note the task ids by which clients wait for jobs; returns the jobs that exist. Of others nothing is noted."""
    if not asked:
        return frozenset()
    rows = tx.run(
        "ask_results",
        job_ids=[job_id for job_id, _ in asked],
        task_ids=[task_id for _, task_id in asked],
        is_sent=is_sent,
    )
    return frozenset(row.id for row in rows)


def refuse(tx: Transaction, asked: Sequence[tuple[str, str, str]], *, is_sent: bool) -> None:
    """Note the task ids of refused messages, each with the field and the reason of its refusal."""
    if asked:
        tx.run(
            "refuse_results",
            task_ids=[task_id for task_id, _, _ in asked],
            fields=[field[:200] for _, field, _ in asked],
            reasons=[reason[:2000] for _, _, reason in asked],
            is_sent=is_sent,
        )


def take_due(tx: Transaction, *, most: int) -> tuple[DueResult, ...]:
    """Take results that are to be sent, at most so many; each is due again later unless `note_sent` says otherwise."""
    rows = tx.run("take_due_results", most=most, largest=LARGEST_OUTPUT)
    return tuple(DueResult(row.id, row.task_id, _result(row)) for row in rows)


def note_sent(tx: Transaction, request_ids: Sequence[int]) -> None:
    """Note that these results were sent."""
    tx.raw(
        "update result_requests set send_at = null, sent_at = now() where id = any (%(ids)s)",
        {"ids": list(request_ids)},
    )


def find(tx: Transaction, task_id: str, *, within: timedelta) -> JobResult | None:
    """What is known of a job by its id, or by the task id of a client's message; None when nothing is.

    Takes no longer than `within` in PostgreSQL: then it raises `StatementAborted`.
    """
    milliseconds = max(1, int(within.total_seconds() * 1000))
    tx.raw("select set_config('statement_timeout', %(bound)s, true)", {"bound": str(milliseconds)})
    return tx.first("find_result", _result, job_id=_as_uuid(task_id), task_id=task_id, largest=LARGEST_OUTPUT)


def _result(row: Any) -> JobResult:  # noqa: ANN401 - a row
    return JobResult(
        state=State(row.state) if row.state else None,
        attempt=row.attempt or 0,
        output=row.output,
        output_bytes=row.output_bytes or 0,
        error=row.error,
        cancel_reason=row.cancel_reason,
        finished_at=row.finished_at,
        refusal=row.refusal,
        job_id=row.job_id,
    )


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None

"""The spans of a job's life: its enqueue, each attempt at it, and each call of a provider that an attempt makes."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from domain.jobs.job import ClaimedJob, NewJob, State
from domain.jobs.lifecycle import Settlement
from observability.traces import Attributes, Span, SpanKind, is_on, parent_of, span

SYSTEM = {"messaging.system": "postroom"}


@contextmanager
def enqueue_spans(jobs: Sequence[NewJob]) -> Iterator[Sequence[NewJob]]:
    """Trace an enqueue, by one span for all jobs of one parent; gives the jobs, each with its span for a parent."""
    if not is_on():
        yield jobs
        return
    with ExitStack() as opened:
        spans: dict[str | None, str | None] = {}
        for parent in dict.fromkeys(job.origin.traceparent for job in jobs):
            like = [job for job in jobs if job.origin.traceparent == parent]
            types = sorted({job.job_type for job in like})
            facts = SYSTEM | {"messaging.operation.type": "send", "job.types": ",".join(types)[:200]}
            name = f"enqueue {types[0]}" if len(types) == 1 else "enqueue"
            made = opened.enter_context(
                span(
                    name,
                    SpanKind.PRODUCER,
                    parent=parent,
                    attributes=facts | {"messaging.batch.message_count": len(like)},
                )
            )
            spans[parent] = made.traceparent
        yield [job._replace(origin=job.origin._replace(traceparent=spans[job.origin.traceparent])) for job in jobs]


@contextmanager
def attempt_span(job: ClaimedJob) -> Iterator[tuple[Span, ClaimedJob]]:
    """Trace one attempt; all attempts at a job have the same parent. Gives the job, whose children are under it."""
    facts: Attributes = SYSTEM | {
        "messaging.operation.type": "process",
        "messaging.destination.name": job.queue,
        "job.type": job.job_type,
        "job.id": str(job.job_id),
        "job.attempt": job.attempt,
        "org.id": str(job.org_id),
    }
    parent = parent_of(job.job_id, job.origin.traceparent)
    with span(job.job_type, SpanKind.CONSUMER, parent=parent, attributes=facts) as opened:
        yield opened, job._replace(origin=job.origin._replace(traceparent=opened.traceparent))


def note_end(attempt: Span, status: str, settlement: Settlement | None) -> None:
    """Note what came of an attempt, by state and code."""
    attempt.note({"job.status": status})
    error = settlement.detail.get("error") if settlement is not None else None
    if error:
        attempt.fail(str(error.get("code")))
    elif status in {State.FAILED, State.DEAD}:
        attempt.fail(status)


@contextmanager
def call_span(provider: str, method: str, url: str) -> Iterator[Span]:
    """Trace one call; of its address only the host is kept, for a path may name a person."""
    facts = {"server.address": urlsplit(url).hostname or "", "http.request.method": method, "provider": provider}
    with span(f"{method} {provider}", SpanKind.CLIENT, attributes=facts) as opened:
        yield opened

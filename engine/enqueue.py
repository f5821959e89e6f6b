"""Enqueues from Python: jobs within the caller's transaction, or any number of them in transactions of their own.

Hints are published after the commit (promise P5).
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Unpack
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job import Enqueued, Hint, NewJob, Origin
from domain.jobs.job_ids import NOISE, make_job_ids
from domain.payloads.payload import JobOptions, Payload, checked, jobs_of
from engine.database_away import retry_while_away
from engine.runtime import Runtime, runtime
from observability.job_spans import enqueue_spans
from storage.jobs import ledger, payload_names
from storage.jobs.requests import Requests, as_requests
from storage.postgres.database import Transaction

BULK = 1000
"""Jobs per statement: twice as many are hardly cheaper each, and its locks on unique keys would be held for longer."""

LARGEST_FAMILY = 2**18
"""Characters of children that are enqueued with settlements of other jobs, about a thousand small ones: they cost the
ledger loop, and all orgs, about a tenth of a second."""


def enqueue(
    tx: Transaction, *payloads: Payload, org_id: UUID, origin: Origin | None = None, **options: Unpack[JobOptions]
) -> tuple[Enqueued, ...]:
    """Enqueue a job per payload for one org; raises `ValueError` for several under one idempotency key."""
    return enqueue_jobs(tx, jobs_of(payloads, org_id=org_id, origin=origin, **options))


def enqueue_jobs(tx: Transaction, jobs: Sequence[NewJob]) -> tuple[Enqueued, ...]:
    """Enqueue jobs of any types, a thousand to a statement; those whose key is taken name the job that has it."""
    if not jobs:
        return ()
    process = runtime()
    answers: list[Enqueued] = []
    with enqueue_spans(jobs) as traced:
        for start in range(0, len(traced), BULK):
            some = [payload_names.resolve_job(tx, checked(job)) for job in traced[start : start + BULK]]
            answers += ledger.enqueue(
                tx, some, publisher=True, hint_timeout=process.hint_timeout, burst=process.settings.burst
            )
    return _publish_after_commit(process, tx, tuple(answers))


def leave_jobs(tx: Transaction, jobs: Sequence[NewJob]) -> None:
    """As `enqueue_jobs`, for who waits for no answer: a single job travels with the next statement."""
    process = runtime()
    if len(jobs) != 1 or process.settings.burst == 0:
        enqueue_jobs(tx, jobs)
        return
    with enqueue_spans(jobs) as (traced,):
        made = ledger.enqueue_one(
            tx, payload_names.resolve_job(tx, checked(traced)), publisher=True, hint_timeout=process.hint_timeout
        )
    tx.after_commit(lambda: _publish_after_commit(process, tx, (made.answer,)))


def enqueue_many(jobs: Iterable[NewJob], *, progress: Callable[[int], object] = lambda _: None) -> tuple[Enqueued, ...]:
    """Enqueue any number of jobs, a thousand to a statement, each committed and published before the next begins.

    `progress` is called with the number of jobs that are in the ledger. While PostgreSQL is away it waits; a statement
    whose answer was lost is sent again and makes no job twice. But a job of a type that is unique while it is queued,
    which had been folded into a waiting one, gets one of its own when the other has begun meanwhile, as it would if it
    were asked for now. What raises in between leaves what was committed: jobs with keys, or with ids of their own, can
    simply be handed over once more.
    """
    process, waiting = runtime(), iter(jobs)
    answers: list[Enqueued] = []
    # While PostgreSQL takes one thousand in, the next is made ready.
    with ThreadPoolExecutor(1, "enqueue_many") as aside:
        under_way: Future[tuple[Enqueued, ...]] | None = None
        while some := list(islice(waiting, BULK)):
            job_ids = make_job_ids(len(some), process.clock(), os.urandom(NOISE * len(some)))
            with enqueue_spans(some) as traced:
                ready = _ready(process, traced, job_ids)
            if under_way is not None:
                answers += under_way.result()
                progress(len(answers))
            under_way = aside.submit(_enqueue_apart, process, ready)
        if under_way is not None:
            answers += under_way.result()
            progress(len(answers))
    return tuple(answers)


def ready_children(process: Runtime, jobs: Sequence[NewJob]) -> Requests:
    """Jobs that the ledger loop enqueues with the settlement of their parent; raises `Invalid`.

    Words are refused: the handler keeps them in its own transaction, or they would stay where the settlement is lost.
    """
    with enqueue_spans(jobs) as traced:
        ready = [checked(job) for job in traced]
    if any(map(payload_names.takes_words, ready)):
        raise Invalid("payload", "has words: keep them in the transaction that ends the job, and give the id")
    return as_requests(_resolved(process, ready))


def _ready(process: Runtime, jobs: Sequence[NewJob], job_ids: Sequence[UUID]) -> Requests | Sequence[NewJob]:
    """Jobs as the statement takes them; those with words as they are, for words and jobs are committed together."""
    ready = [checked(job) for job in jobs]
    if any(map(payload_names.takes_words, ready)):
        return [job._replace(job_id=job.job_id or own) for job, own in zip(ready, job_ids, strict=True)]
    return as_requests(_resolved(process, ready), job_ids)


def _resolved(process: Runtime, jobs: Sequence[NewJob]) -> Sequence[NewJob]:
    """Jobs as their payloads' classes write them; a transaction is opened only where names are to be looked up."""
    if all(map(payload_names.is_whole, jobs)):
        return jobs
    with process.database.ledger() as tx:
        return [payload_names.resolve_job(tx, job) for job in jobs]


def _enqueue_apart(process: Runtime, ready: Requests | Sequence[NewJob]) -> tuple[Enqueued, ...]:
    def insert() -> tuple[Enqueued, ...]:
        if isinstance(ready, str):
            with process.database.statements() as tx:
                return _enqueue(process, tx, ready)
        with process.database.ledger() as tx:
            return _enqueue(process, tx, as_requests([payload_names.resolve_job(tx, job) for job in ready]))

    return retry_while_away(process, insert)


def _enqueue(process: Runtime, tx: Transaction, ready: Requests) -> tuple[Enqueued, ...]:
    answers = ledger.enqueue_requests(
        tx, ready, publisher=True, hint_timeout=process.hint_timeout, burst=process.settings.burst
    )
    return _publish_after_commit(process, tx, answers)


def _publish_after_commit(process: Runtime, tx: Transaction, answers: tuple[Enqueued, ...]) -> tuple[Enqueued, ...]:
    publish_after_commit(process, tx, [answer.hint for answer in answers if answer.publish])
    return answers


def publish_after_commit(process: Runtime, tx: Transaction, hints: Sequence[Hint]) -> None:
    """Publish these after the commit, together with all others of the transaction (`Transaction.hints`)."""
    tx.publish(hints, process.publisher.publish)

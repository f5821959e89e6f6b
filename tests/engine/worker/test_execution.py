"""Jobs in the pool, as Celery's tracer and its current task see them."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from celery import Task, current_task
from celery.app.trace import reset_worker_optimizations, setup_worker_optimizations
from celery.utils.threads import LocalStack

from domain.jobs.job import ClaimedJob, Done, Origin, Outcome
from engine.celery_patches.request_stack import RequestStack
from engine.context import JobContext
from engine.runtime import Runtime, install
from engine.worker import execution
from settings import Settings
from tasks import celery as app
from tests.doubles import probe_jobs


@pytest.fixture
def noop(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Task]:
    """A job type's task in a process that Celery has made a worker."""
    process = Runtime(settings)
    install(process)
    setup_worker_optimizations(app)
    task = app.tasks["probe_jobs.noop"]
    monkeypatch.setattr(type(task), "__trace__", None)  # built anew, as a worker does when it has begun
    yield task
    reset_worker_optimizations(app)
    install(None)
    process.close()


def claimed() -> ClaimedJob:
    return ClaimedJob(
        job_id=uuid4(), token=uuid4(), job_type="probe_jobs.noop", queue="default", org_id=uuid4(), project_id=None,
        payload={}, payload_version=1, attempt=1, max_attempts=3, losses=0, deadline=timedelta(seconds=10),
        origin=Origin(), created_at=datetime.now(UTC), started=False,
    )  # fmt: skip


def test_a_job_in_the_pool_is_celerys_one_current_request(noop: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str, int]] = []

    def look(_ctx: JobContext, _payload: probe_jobs.Nothing) -> Outcome:
        seen.append((current_task.name, current_task.request.id, len(noop.request_stack)))
        return Done()

    monkeypatch.setattr(type(noop), "job_type", replace(noop.job_type, handler=look))
    jobs = [claimed(), claimed()]
    place = execution.MARKERS.take()
    reports = execution.perform(jobs, place)
    execution.MARKERS.free(place)
    assert [(report.job_id, report.status) for report in reports] == [(job.job_id, "succeeded") for job in jobs]
    assert seen == [("probe_jobs.noop", str(job.job_id), 1) for job in jobs]
    assert len(noop.request_stack) == 0


@pytest.mark.parametrize("kind", [LocalStack, RequestStack])
def test_a_stack_of_requests_does_what_celerys_does(kind: type[Any]) -> None:
    stack = kind()
    assert (stack.pop(), stack.top, len(stack)) == (None, None, 0)
    stack.push("first")
    stack.push("second")
    assert (stack.top, len(stack)) == ("second", 2)
    others: list[object] = []
    thread = threading.Thread(target=lambda: others.append((stack.top, len(stack))))
    thread.start()
    thread.join()
    assert others == [(None, 0)]
    assert [stack.pop(), stack.pop(), stack.pop(), len(stack)] == ["second", "first", None, 0]

"""The request of an ordinary job in Celery's main process: what inspect, revoke, time limits and Flower see of it."""

from typing import Any

from celery import signals
from celery.worker import state
from kombu.message import Message

from domain.jobs.job import ClaimedJob
from engine.broker.hints import task_headers
from engine.celery_patches.pool_request import PoolRequest
from engine.worker.execution import Report

NO_ARGUMENTS: tuple[list[object], dict[str, object], dict[str, object]] = ([], {}, {})
"""The body of every request: what the job is about stands in its claim, and shows in no listing of Celery's."""


class JobRequest(PoolRequest):
    """One claimed job, made from what its claim says: demand names no jobs, and a hint says nothing more."""

    acknowledged = True

    def __init__(self, job: ClaimedJob, **celery: Any) -> None:  # noqa: ANN401 - what Celery's own takes
        """`celery` is what Celery's own request takes."""
        headers = task_headers(job.job_type, job.job_id, job.attempt)
        message = Message(
            headers=headers,
            properties={"correlation_id": headers["id"]},
            delivery_info={"exchange": "", "routing_key": job.queue},
        )
        super().__init__(message, headers=headers, body=NO_ARGUMENTS, decoded=True, **celery)

    def announce(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Announce to Celery's signals, events and listings a request that was received."""
        signals.task_received.send(sender=consumer, request=self)
        self.send_event("task-received", name=self.name, args="()", kwargs="{}", retries=self.request_dict["retries"])
        state.task_reserved(self)

    def announce_end(self, report: Report) -> None:
        """Announce to Celery's listings and events what became of the job."""
        state.task_ready(self)  # not "successful": that is remembered for requests that are not acknowledged
        match report.status:
            case "succeeded" | "canceled":
                self.send_event("task-succeeded", result=report.status, runtime=report.seconds)
            case "queued" | "returned":
                self.send_event("task-retried", exception=report.reason, traceback="")
            case _:
                self.send_event("task-failed", exception=report.reason, traceback="")

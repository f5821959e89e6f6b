"""A job type that only the newer of two releases has: loaded with `--include tests.fleet.releases.newer_jobs`."""

import tasks  # noqa: F401  # its walk registers all job types known by then; those below are registered after it
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext
from engine.worker.worker import RELEASE
from tests.doubles.probe_jobs import AT_ONCE


class Added(Payload, job_type="newer_jobs.added"):
    """No fields."""


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def added(_ctx: JobContext, _payload: Added) -> Outcome:
    """Say which release ran it."""
    return Done({"release": RELEASE})


register(added)

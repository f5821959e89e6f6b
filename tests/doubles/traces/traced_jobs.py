"""Job types for the test of traces, loaded into a worker with `--include tests.doubles.traces.traced_jobs`."""

from datetime import timedelta

from domain.jobs.failures import Transient
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import RetryPolicy
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext
from providers.google.transport import NoReplayHttp
from tests.doubles import probe_jobs

AT_ONCE = RetryPolicy("at_once", 3, timedelta(0), timedelta(0))


class Called(Payload, job_type="traced_jobs.called"):
    """An address to call, with a word that no span may carry."""

    url: str = ""
    secret_word: str = ""


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def called(ctx: JobContext, payload: Called) -> Outcome:
    """Call the address, fail once, and then make a child."""
    NoReplayHttp(timeout_s=5, access_token=payload.secret_word).request(f"{payload.url}/{payload.secret_word}")
    if ctx.job.attempt == 1:
        raise Transient(f"not yet, {payload.secret_word}")
    return Done(children=(probe_jobs.Noop().job(org_id=ctx.org_id),))


register(called)

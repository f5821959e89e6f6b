"""What becomes of a job whose payload is newer than the worker that got it: during a deploy, or after a rollback."""

from datetime import datetime, timedelta

from domain.jobs.job import ClaimedJob
from domain.jobs.lifecycle import Settlement

REST = timedelta(seconds=30)
"""How long such a job rests before another worker may claim it, as one of an unknown type does."""

MOST_RETURNS = 120
"""An hour of such rests: longer than a deploy takes. Afterwards no worker that knows the version is to be expected."""


def give_back_newer(job: ClaimedJob, known_version: int, now: datetime) -> Settlement | None:
    """Decide whether a job goes back because its payload is newer than this worker knows; None when it is to run.

    A newer worker beside this one can read it. A job that went back too often runs, and is refused by its version.
    """
    if job.payload_version <= known_version or job.returns >= MOST_RETURNS:
        return None
    back = Settlement.unstarted(job, "newer payload", now + REST)
    return back._replace(returns=1)

"""End-of-job hooks that could not run in the transaction that ended their job."""

from domain.jobs.failures import ClaimLost, Forbidden, Invalid, Transient
from domain.jobs.job import ClaimedJob
from storage.postgres.database import Transaction


def repeat(tx: Transaction, job: ClaimedJob) -> bool:
    """Call the hook that a held job `maintenance.run_end_hook` is for, in the caller's transaction.

    False when there is nothing to call: the hook has run, or the job's type names none any more. The transaction holds
    the claim of `job` (`Database.claimed`). Raises `Transient` or the database's own error when the hook fails: it is
    retried in either case.
    """
    call = "select postroom.repeat_end_hook(%(job)s, %(token)s) as called"
    try:
        rows = tx.raw(call, {"job": job.job_id, "token": job.token})
    except (ClaimLost, Invalid, Forbidden) as refused:
        # Of a handler's own statements these are final; of a hook they are a defect that a migration can mend. A claim
        # that is lost is one that the hook asked for: the caller's is locked.
        raise Transient(f"the end-of-job hook failed: {refused.reason}") from refused
    return bool(rows[0].called)

"""What `celery control revoke` named: each worker of the fleet gets the command, and one of them cancels the job."""

import threading
from collections.abc import Sequence
from uuid import UUID

import structlog

from domain.jobs.failures import Failure
from domain.jobs.job import ActorType, Origin
from engine.database_away import DATABASE_RETRY_S, MOST_LOCKED
from engine.runtime import Runtime
from storage.jobs import ledger
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)

BY = Origin(ActorType.USER, "operator:celery control revoke")
"""In the audit log. Celery's command does not say which operator gave it."""

REASON = "revoked by an operator"


class Revocations:
    """Cancels what one worker was told to, a thread for each command: an end-of-job hook may take its time."""

    def __init__(self, process: Runtime) -> None:
        """Begin with nothing."""
        self._process = process
        self._threads: list[threading.Thread] = []
        self._turn = threading.Lock()
        """However many commands come, they take one of the connections that handlers need."""

    @property
    def is_busy(self) -> bool:
        """Whether jobs are still to be canceled."""
        return any(thread.is_alive() for thread in self._threads)

    def begin(self, job_ids: Sequence[UUID]) -> bool:
        """Cancel these jobs, and return at once; false, and none of them, where the worker stops."""
        if self._process.stopping.is_set():
            return False
        thread = threading.Thread(target=self._cancel_all, args=(job_ids,), name="revocations", daemon=True)
        self._threads = [*(thread for thread in self._threads if thread.is_alive()), thread]
        thread.start()
        return True

    def _cancel_all(self, job_ids: Sequence[UUID]) -> None:
        """Cancel the jobs; what somebody has locked is tried again, and once more when the worker begins to stop."""
        left = job_ids
        for _try in range(MOST_LOCKED):
            is_last = self._process.stopping.is_set()
            with self._turn:
                left = [job_id for job_id in left if not self._cancel(job_id)]
            if is_last or not left:
                break
            threading.Event().wait(DATABASE_RETRY_S)
        if left:
            log.warning("revocations_given_up", jobs=[str(job_id) for job_id in left])

    def _cancel(self, job_id: UUID) -> bool:
        """Cancel a job in a transaction of its own: a hook that is stuck keeps no other from its end."""
        try:
            with self._process.database.ledger() as tx:
                return ledger.cancel_free(tx, job_id, REASON, by=BY)
        except (Failure, DatabaseError) as error:
            log.warning("revocation_postponed", job_id=str(job_id), error=type(error).__name__)
            return False

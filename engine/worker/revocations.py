"""What `celery control revoke` named: each worker of the fleet gets the command, and one of them cancels the job."""

import time
from collections.abc import Callable, Sequence
from itertools import islice
from uuid import UUID

import structlog

from domain.jobs.failures import Failure
from domain.jobs.job import ActorType, Origin
from engine.runtime import Runtime
from storage.ledger import ledger
from storage.postgres.execution import DatabaseError, is_away

log = structlog.get_logger(__name__)

BY = Origin(ActorType.USER, "operator:celery control revoke")
"""In the audit log. Celery's command does not say which operator gave it."""

REASON = "revoked by an operator"

GIVE_UP_S = 60.0
"""How long a job is tried again that somebody has locked: longer than most transactions of handlers."""

AGAIN_S = 1.0
"""How often such jobs are tried: each try is a transaction, and claims and settlements wait meanwhile."""

MOST_WAITING = 1000
"""Jobs that may wait to be canceled in one worker; whoever revokes more sends the next when these are done."""

MOST_AT_ONCE = 20
"""Jobs in one turn, each in a transaction of its own: an end-of-job hook that is stuck keeps no other from its end."""


class Revocations:
    """What one worker was told to cancel and has not canceled yet, with the time at which it gives up."""

    def __init__(self, process: Runtime, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing."""
        self._process = process
        self._monotonic = monotonic
        self._waiting: dict[UUID, float] = {}
        self._locked_until = 0.0
        """When jobs are tried again that somebody has locked."""

    def add(self, job_ids: Sequence[UUID]) -> bool:
        """Take jobs to cancel; false, and none of them, where too many wait."""
        if len(self._waiting) + len(job_ids) > MOST_WAITING:
            return False
        self._waiting |= dict.fromkeys(job_ids, self._monotonic() + GIVE_UP_S)
        return True

    def write(self) -> None:
        """Cancel some of the jobs, and wait for nobody: what somebody has locked is tried again later.

        Raises `DatabaseUnavailable`.
        """
        if self._monotonic() < self._locked_until:
            return
        for job_id, until in list(islice(self._waiting.items(), MOST_AT_ONCE)):
            del self._waiting[job_id]
            done = False
            try:
                done = self._cancel(job_id)
            finally:
                if not done and self._monotonic() < until:
                    self._waiting[job_id] = until  # behind the others
                    self._locked_until = self._monotonic() + AGAIN_S
                elif not done:
                    log.warning("revocation_given_up", job_id=str(job_id), reason="locked, or PostgreSQL is away")

    def _cancel(self, job_id: UUID) -> bool:
        try:
            with self._process.database.pinned_transaction() as tx:
                return ledger.cancel_free(tx, job_id, REASON, by=BY)
        except (Failure, DatabaseError) as error:
            if is_away(error):
                raise
            log.warning("revocation_postponed", job_id=str(job_id), error=type(error).__name__)
            return False

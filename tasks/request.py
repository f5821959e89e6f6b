"""The request of our jobs inside Celery's main process: it notices when the child that ran a job is gone."""

from typing import Any
from uuid import UUID

import structlog
from billiard.exceptions import WorkerLostError
from celery.worker.request import Request

from domain.failures import Failure
from storage import ledger
from tasks.runtime import runtime

log = structlog.get_logger(__name__)


class JobRequest(Request):  # type: ignore[misc] # Celery ships no types
    """Reports a lost or overdue child to the ledger, so that the job need not wait for the child's lease to end."""

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - Celery's signature
        """Let Celery do its part, then report the loss."""
        error = getattr(exc_info.exception, "exc", exc_info.exception)
        super().on_failure(exc_info, send_failed_event, return_ok)
        if isinstance(error, WorkerLostError | SystemExit):
            self._report_loss()

    def _report_loss(self) -> None:
        process = runtime()
        try:
            with process.database.ledger() as tx:
                ledger.report_loss(tx, [UUID(self.id)], process.worker)
        except (Failure, ValueError) as error:
            # The lease ends by itself; this report only makes it sooner.
            log.warning("loss_not_reported", job_id=self.id, error=type(error).__name__)

"""The request of our jobs inside Celery's main process: it notices when the child that ran a job is gone."""

from typing import Any
from uuid import UUID

import structlog
from billiard.exceptions import WorkerLostError
from celery.worker.request import Request

from domain.failures import Failure
from storage import ledger
from tasks.publisher import ORIGIN
from tasks.runtime import runtime

log = structlog.get_logger(__name__)


class JobRequest(Request):  # type: ignore[misc] # Celery ships no types
    """Acknowledges hints early and foreign jobs late, and reports a lost child to the ledger.

    A hint may get lost, the relay sends another; a foreign job is in nobody's ledger until its task has taken it in.
    """

    def on_accepted(self, pid: int, time_accepted: float) -> None:
        """Let Celery do its part, then acknowledge a hint."""
        super().on_accepted(pid, time_accepted)
        if self.request_dict.get("origin") == ORIGIN:
            self.acknowledge()

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - Celery's signature
        """Report a loss, so that the job need not wait for the child's lease to end; then let Celery do its part."""
        error = getattr(exc_info.exception, "exc", exc_info.exception)
        if isinstance(error, WorkerLostError | SystemExit):
            self._report_loss()
        super().on_failure(exc_info, send_failed_event, return_ok)

    def _report_loss(self) -> None:
        process = runtime()
        try:
            with process.database.ledger() as tx:
                ledger.report_loss(tx, [UUID(self.id)], process.worker)
        except (Failure, ValueError) as error:
            # The lease ends by itself; this report only makes it sooner.
            log.warning("loss_not_reported", job_id=self.id, error=type(error).__name__)

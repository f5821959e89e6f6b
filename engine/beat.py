"""Beat's scheduler: a tick is a job in the ledger, unique per window of time, so that two beats make one."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from celery.beat import ScheduleEntry, Scheduler
from pydantic import ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.failures import Failure
from domain.jobs.job import SYSTEM_ORG, Origin
from domain.payloads import payload_types
from domain.payloads.payload import Payload
from engine.enqueue import enqueue_jobs
from engine.process.runtime import runtime

log = structlog.get_logger(__name__)

TRIES = 20
"""A tick is tried for this many seconds while PostgreSQL is away; the next window comes anyway."""


class LedgerScheduler(Scheduler):  # type: ignore[misc] # Celery ships no types
    """Enqueues each due entry as a job; keeps no file, because the ledger knows which window has had its tick."""

    max_interval = 5

    def setup_schedule(self) -> None:
        """Take the schedule and make every entry due at once: a window that has had its tick refuses another.

        Raises `ValueError` that names an entry whose job type does not exist or needs a payload.
        """
        super().setup_schedule()
        self._ticks = {entry.task: tick_payload(entry.task) for entry in self.schedule.values()}
        for entry in self.schedule.values():
            entry.last_run_at = self.app.now() - entry.schedule.run_every

    def apply_async(self, entry: ScheduleEntry, producer: Any = None, advance: bool = True, **_: Any) -> None:  # noqa: ANN401, ARG002, FBT001, FBT002 - Celery's signature
        """Enqueue one tick; a database that is away is tried again for a while."""
        entry = self.reserve(entry) if advance else entry
        for _try in range(TRIES):
            try:
                tick(self._ticks[entry.task], entry.schedule.run_every, datetime.now(UTC))
            except Failure as failure:
                log.warning("tick_not_enqueued", job_type=entry.task, reason=failure.reason)
                threading.Event().wait(1)
            else:
                return

    def install_default_entries(self, data: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Nothing of Celery's own: there is no result backend to clean."""


def tick_payload(job_type: str) -> Payload:
    """The payload of a periodic job; raises `ValueError` when the schedule may not name that job type."""
    known = payload_types.find(job_type)
    if known is None:
        raise ValueError(f"the schedule names {job_type}, which is no job type of this release")
    if known.declaration.job_type != job_type:
        raise ValueError(f"the schedule names {job_type}; the name of that job type is {known.declaration.job_type}")
    try:
        return known()
    except ValidationError as error:
        problem = first_problem(error)
        raise ValueError(f"the schedule names {job_type}, whose payload needs the field {problem.field}") from None


def tick(payload: Payload, every: timedelta, now: datetime) -> bool:
    """Enqueue the tick of the window that `now` lies in; false when the window has had it."""
    window = int(now.timestamp() // every.total_seconds())
    job_type = payload.declaration.job_type
    job = payload.job(
        org_id=SYSTEM_ORG,
        origin=Origin(actor_id="beat"),
        idempotency_key=f"tick:{job_type}:{int(every.total_seconds())}:{window}",
        expires_at=datetime.fromtimestamp((window + 1) * every.total_seconds(), UTC) + every,
    )
    with runtime().database.ledger() as tx:
        created = enqueue_jobs(tx, [job])[0].created
    log.info("tick", job_type=job_type, created=created)
    return created

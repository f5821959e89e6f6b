"""Beat's scheduler: a tick is a job in the ledger, unique per window of time, so that two beats make one."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from celery.beat import ScheduleEntry, Scheduler
from pydantic import ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.failures import Failure
from domain.jobs.job import SYSTEM_ORG, Origin
from domain.jobs.scheduling.ticks import LATE_AFTER
from domain.payloads import payload_types
from domain.payloads.payload import Payload
from engine.counting.beat_ticks import own_intervals
from engine.enqueue import enqueue_jobs
from engine.runtime import runtime
from observability.health import Finding, Health
from observability.probes import show
from storage.jobs.schedules import ticks

log = structlog.get_logger(__name__)

OWED_AGAIN_S = 1.0
"""How often ticks are tried again that could not be enqueued; a tick of each day must not wait for the next day."""

LONGEST_ROUND_S = LATE_AFTER.total_seconds()
"""While PostgreSQL is away each entry that is due waits for a connection, and a dozen may be due at once."""


class LedgerScheduler(Scheduler):  # type: ignore[misc] # Celery ships no types
    """Enqueues each due entry as a job; keeps no file, because the ledger knows which window has had its tick."""

    max_interval = 5
    producer = None
    """Celery would wait for the broker before each tick; ours need the ledger alone."""

    def setup_schedule(self) -> None:
        """Take the schedule and make every entry due at once: a window that has had its tick refuses another.

        Raises `ValueError` that names an entry whose job type does not exist or needs a payload.
        """
        self.app.need_one_broker()  # `--quiet` leaves out the banner, which makes beat's only connection
        own = {name: {"task": name, "schedule": every} for name, every in own_intervals().items()}
        self.app.conf.beat_schedule = self.app.conf.beat_schedule | own
        super().setup_schedule()
        self._owed: dict[str, ScheduleEntry] = {}
        self._ticks = {entry.task: tick_payload(entry.task) for entry in self.schedule.values()}
        for entry in self.schedule.values():
            entry.last_run_at = self.app.now() - entry.schedule.run_every
        self.health = Health()
        self._round_at = time.monotonic()
        self.health.add("rounds", lambda: round_finding(time.monotonic() - self._round_at))
        show(runtime().settings, self.health)

    def apply_async(self, entry: ScheduleEntry, producer: Any = None, advance: bool = True, **_: Any) -> None:  # noqa: ANN401, ARG002, FBT001, FBT002 - Celery's signature
        """Enqueue one tick; what fails is owed, and tried again at each look of beat until the ledger has it."""
        entry = self.reserve(entry) if advance else entry
        self._owed[entry.task] = entry
        reason = self._pay(entry)
        if reason is not None:
            log.warning("tick_not_enqueued", job_type=entry.task, reason=reason)

    def tick(self, *args: Any, **kwargs: Any) -> float:  # noqa: ANN401 - Celery's signature
        """Enqueue what is owed, then what is due; returns in how many seconds to look again."""
        self._round_at = time.monotonic()
        for entry in tuple(self._owed.values()):
            if self._pay(entry) is not None:  # reported when it fell due; Celery looks ten times within a moment
                break
        soon: float = super().tick(*args, **kwargs)
        return min(soon, OWED_AGAIN_S) if self._owed else soon

    def _pay(self, entry: ScheduleEntry) -> str | None:
        """Enqueue the tick; returns why not, or None."""
        try:
            tick(self._ticks[entry.task], entry.schedule.run_every, runtime().clock())
        except Failure as failure:
            return failure.reason
        self._owed.pop(entry.task, None)
        return None

    def install_default_entries(self, data: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Nothing of Celery's own: there is no result backend to clean."""


def round_finding(age_s: float) -> Finding:
    """Whether beat still looks at its schedule."""
    return Finding(age_s < LONGEST_ROUND_S, f"looked at the schedule {age_s:.0f} s ago")


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
    with runtime().database.statements() as tx:
        created = enqueue_jobs(tx, [job])[0].created
        ticks.note(tx, job_type)
    log.info("tick", job_type=job_type, created=created)
    return created

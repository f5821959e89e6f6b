"""Every metric: its name, its labels, and what it means. docs/reference/metrics.md is written from this."""

from enum import StrEnum
from typing import NamedTuple


class MetricKind(StrEnum):
    """How a metric's values follow one another."""

    COUNTER = "counter"
    """It only grows."""
    GAUGE = "gauge"
    """It is what it was when it was measured."""
    HISTOGRAM = "histogram"
    """It counts values by their size."""


class MetricSource(StrEnum):
    """Where a metric's values come from."""

    LOG = "audit log"
    """Counted from the audit log, for the whole fleet; one worker shows it at a time."""
    LEDGER = "ledger"
    """Measured in the ledger, for the whole fleet; the worker that counts shows it."""
    PROCESS = "process"
    """Of the process that shows it."""


class Metric(NamedTuple):
    """One metric. A counter of the log may have a third label, whose value is in the total's `label`."""

    name: str
    kind: MetricKind
    source: MetricSource
    labels: tuple[str, ...]
    meaning: str
    bounds: tuple[float, ...] = ()
    values: tuple[str, ...] = ()
    """Values of its third label that are known before anything happens."""


COUNTER, GAUGE, HISTOGRAM = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM
LOG, LEDGER, PROCESS = MetricSource.LOG, MetricSource.LEDGER, MetricSource.PROCESS
JOB = ("job_type", "queue")
LOSSES = ("lost", "deadline")
"""Why a claim is lost: `domain.jobs.lifecycle.LossCause`."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
"""From a job of no length, whose settlement alone takes milliseconds, to an hour, which no deadline exceeds."""
ATTEMPTS = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0)
"""No retry policy has more than the last; a job that names its own number may have up to a hundred."""

ENQUEUED = Metric("jobs_enqueued_total", COUNTER, LOG, JOB, "Jobs accepted at any entry point; a replay counts.")
STARTED = Metric("jobs_started_total", COUNTER, LOG, JOB, "Attempts that began.")
SUCCEEDED = Metric("jobs_succeeded_total", COUNTER, LOG, JOB, "Jobs that ended `succeeded`.")
FAILED = Metric(
    "jobs_failed_total",
    COUNTER,
    LOG,
    (*JOB, "error_class"),
    "Jobs that ended `failed` or `dead`, by the code of their last [failure](failures.md). An attempt that is tried"
    " again is in `jobs_retried_total`.",
)
CANCELED = Metric(
    "jobs_canceled_total",
    COUNTER,
    LOG,
    (*JOB, "cause"),
    "Jobs that ended `canceled`: on request or by their handler (`canceled`), `expired`, or with a lost claim (`lost`,"
    " `deadline`) after a request.",
    values=("canceled", "expired", *LOSSES),
)
RETRIED = Metric(
    "jobs_retried_total",
    COUNTER,
    LOG,
    (*JOB, "cause"),
    "Times that a job left a claim and went back to its queue: after a `failure`, a `snooze`, a lost claim (`lost`,"
    " `deadline`), or without an attempt spent (`throttled`, `parked`, `shutdown` and others).",
    values=("failure", "snooze", *LOSSES, "throttled", "parked", "shutdown"),
)
CLAIMS_LOST = Metric(
    "jobs_claims_lost_total",
    COUNTER,
    LOG,
    (*JOB, "cause"),
    "Claims that were taken from a worker: its lease ran out or its process died (`lost`), or the attempt outran its"
    " deadline (`deadline`).",
    values=LOSSES,
)
DURATION = Metric(
    "jobs_duration_seconds",
    HISTOGRAM,
    LOG,
    JOB,
    "Seconds from the start of an attempt until its end is written, for every attempt that ended, in whatever way.",
    SECONDS,
)
SPENT_ATTEMPTS = Metric(
    "jobs_attempts_histogram",
    HISTOGRAM,
    LOG,
    ("job_type",),
    "Attempts that a job had spent when it ended `succeeded`, `failed` or `dead`.",
    ATTEMPTS,
)
DEAD_LETTERS = Metric("deadletter_total", COUNTER, LOG, JOB, "Jobs that became dead letters.")
VIOLATIONS = Metric(
    "invariant_violations_total",
    COUNTER,
    LOG,
    JOB,
    "Rows of the ledger that `maintenance.check_invariants` found in contradiction: each is a bug, counted each time.",
)
COST = Metric(
    "jobs_cost_microcents_total",
    COUNTER,
    LOG,
    JOB,
    "What the jobs that ended have cost, in millionths of a US cent, all their attempts together.",
)
DEPTH = Metric(
    "queue_jobs",
    GAUGE,
    LEDGER,
    ("queue", "state"),
    "Unfinished jobs that are due: `due` for the relay, in the `backlog`, `published` and not claimed, `parked` behind"
    " a gate or a concurrency key, `held` by a worker. At most 50,000 of each state are counted.",
)
OLDEST = Metric(
    "queue_oldest_job_age_seconds",
    GAUGE,
    LEDGER,
    ("queue",),
    "How long the oldest job of those that are due, in the backlog or published has been due; 0 without one.",
)
WORKERS = Metric("workers_alive", GAUGE, LEDGER, (), "Worker commands with a lease.")
OPEN_LETTERS = Metric("deadletter_open", GAUGE, LEDGER, (), "Dead letters that nobody has replayed or discarded.")
REFUSED_MESSAGES = Metric(
    "messages_refused",
    GAUGE,
    LEDGER,
    (),
    "Messages of Celery's clients that were refused within the last hour: see `celery -A tasks jobs refused`.",
)
GATES = Metric("gates_closed", GAUGE, LEDGER, ("scope",), "Closed gates.")
EFFECTS = Metric(
    "effects_unsettled",
    GAUGE,
    LEDGER,
    ("state",),
    "Effects of held jobs and of jobs with an open dead letter that have not succeeded: `running`, `failed`, or"
    " `unknown`, which a person must decide.",
)
COUNTING_LAG = Metric(
    "counting_lag_seconds",
    GAUGE,
    LEDGER,
    (),
    "How old the newest place of the audit log is up to which everything is counted. A transaction that has written"
    " entries and does not end holds it up.",
)
TICKS = Metric(
    "beat_tick_overdue_seconds",
    GAUGE,
    LEDGER,
    ("job_type",),
    "By how much beat's next tick for a periodic job is overdue; 0 in time, and while a person's gate keeps the job"
    " from running. Shown once a beat has ticked: none is shown where no beat has ever run.",
)
JOB_TYPES = Metric(
    "job_type_info",
    GAUGE,
    LEDGER,
    (*JOB, "category"),
    "1 for each job type. Joined to another metric, it gives the category:"
    " `… * on (job_type, queue) group_left (category) job_type_info`.",
)
TURN_AGE = Metric(
    "worker_turn_age_seconds", GAUGE, PROCESS, (), "Seconds since the worker's event loop last came round."
)
LEASE_LEFT = Metric("worker_lease_left_seconds", GAUGE, PROCESS, (), "What is left of the worker's lease.")
SLOTS = Metric("worker_slots", GAUGE, PROCESS, (), "Jobs that the worker's pool can run at once.")
HELD = Metric("worker_held_jobs", GAUGE, PROCESS, (), "Jobs that the worker has claimed and not settled.")
WAITING = Metric("worker_waiting_jobs", GAUGE, PROCESS, (), "Held jobs that wait for a slot.")
REFUSED = Metric(
    "worker_settlements_refused_total",
    COUNTER,
    PROCESS,
    (),
    "Settlements that the ledger refused, because their claims were lost.",
)
HEALTHY = Metric(
    "process_healthy", GAUGE, PROCESS, ("check",), "1 where the health check of the process passes, else 0."
)

METRICS = (
    ENQUEUED,
    STARTED,
    SUCCEEDED,
    FAILED,
    CANCELED,
    RETRIED,
    CLAIMS_LOST,
    DURATION,
    SPENT_ATTEMPTS,
    DEAD_LETTERS,
    VIOLATIONS,
    COST,
    DEPTH,
    OLDEST,
    WORKERS,
    OPEN_LETTERS,
    REFUSED_MESSAGES,
    GATES,
    EFFECTS,
    COUNTING_LAG,
    TICKS,
    JOB_TYPES,
    TURN_AGE,
    LEASE_LEFT,
    SLOTS,
    HELD,
    WAITING,
    REFUSED,
    HEALTHY,
)
"""In the order of the page."""

"""Every periodic job, one line each: when -> job type. Beat may run twice: a tick is a unique job."""

from datetime import timedelta

EVERY: dict[str, timedelta] = {
    "maintenance.fallback_sync": timedelta(minutes=15),  # pushes get lost without a trace (providers.md 1.2)
    "maintenance.full_sync": timedelta(hours=1),  # finds what was missed while a watch was out (seed 000)
    "maintenance.renew_watches": timedelta(hours=24),  # a watch lapses after seven days (providers.md 1.2)
    "maintenance.sync_labels": timedelta(hours=1),  # people rename and delete labels
    "maintenance.delete_finished_jobs": timedelta(minutes=10),  # seven days are kept (seed 000)
    "maintenance.purge_expired_keys": timedelta(hours=1),  # guards past their time (seed 004)
    "maintenance.charge_lost_reservations": timedelta(minutes=10),  # of workers that died while they asked the model
    "maintenance.check_watches": timedelta(hours=1),  # an account without a watch must alarm (providers.md 1.2)
}

SCHEDULE = {job_type: {"task": job_type, "schedule": every} for job_type, every in EVERY.items()}

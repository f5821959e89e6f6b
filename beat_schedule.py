"""Every periodic job, one line each: when -> job type. Beat may run twice: a tick is a unique job.

Two of these intervals are settings, which celeryconfig.py puts in their places.
"""

from datetime import timedelta

EVERY: dict[str, timedelta] = {
    "maintenance.fallback_sync": timedelta(
        minutes=15
    ),  # POSTROOM_FALLBACK_SYNC_S (docs: gmail-push.md#notifications-get-lost)
    "maintenance.full_sync": timedelta(hours=1),  # POSTROOM_FULL_SYNC_S (docs: seeds.md#000-44)
    "maintenance.renew_watches": timedelta(hours=24),  # a watch lapses after seven days (docs: gmail-push.md#watch)
    "maintenance.sync_labels": timedelta(hours=1),  # people rename and delete labels
    "maintenance.delete_finished_jobs": timedelta(minutes=1),  # POSTROOM_RETENTION_S (docs: seeds.md#000-96)
    "maintenance.delete_exported_audit": timedelta(hours=1),  # POSTROOM_AUDIT_RETENTION_S; nothing without it
    "maintenance.purge_expired_keys": timedelta(minutes=1),  # storage/retentions.py (docs: seeds.md#004-28)
    "maintenance.expire_artifacts": timedelta(minutes=10),  # and removes what people deleted (docs: artifacts.md#end)
    "maintenance.sweep_artifacts": timedelta(days=1),  # bytes of jobs that died (docs: artifacts.md#bytes-first)
    "audit.catch_up": timedelta(minutes=10),  # changes without details, as after new rules (docs: audit-details.md)
    "maintenance.charge_lost_reservations": timedelta(minutes=10),  # of workers that died while they asked the model
    "maintenance.check_watches": timedelta(hours=1),  # a missing watch raises an alarm (docs: gmail-push.md#watch)
    "maintenance.check_invariants": timedelta(hours=1),  # what contradicts itself is a bug, and must be heard of
    "maintenance.reconcile_effects": timedelta(hours=1),  # calls whose job ended in the middle (docs: effects.md)
    "approvals.expire": timedelta(minutes=1),  # one reminder before (docs: questions-and-decisions.md#expiry)
    "notifications.close_overdue": timedelta(hours=1),  # left open (docs: deliveries.md#digests)
    "maintenance.raise_alerts": timedelta(minutes=1),  # dead letters and refusing providers (docs: alerts.md)
}

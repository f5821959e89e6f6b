"""The maintenance family: bounded, set-based housekeeping of the whole fleet, run by the system org."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retention import FIRST_ID, RUN, follow_up_key, next_place
from domain.notifications.alerts.alert import payload_of
from domain.notifications.alerts.due import WINDOW, alerts_due, look_from
from domain.payloads import gmail
from domain.payloads.maintenance import (
    ChargeLostReservationsPayload,
    CheckInvariantsPayload,
    CheckWatchesPayload,
    DeleteExportedAuditPayload,
    DeleteFinishedJobsPayload,
    ExpireArtifactsPayload,
    FallbackSyncPayload,
    FullSyncPayload,
    PurgeExpiredKeysPayload,
    RaiseAlertsPayload,
    ReconcileEffectsPayload,
    RenewWatchesPayload,
    ResolveEffectPayload,
    RunEndHookPayload,
    SweepArtifactsPayload,
    SyncLabelsPayload,
)
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext
from storage.jobs import audit, end_hooks, invariants, retention
from storage.jobs.audit_log import deletion
from storage.models.money import spending
from storage.notifications import alerts
from storage.postgres.database import Transaction
from storage.postgres.retention import BATCH, Retention
from storage.retentions import BY_HAND, RETENTIONS
from tasks.jobs.steps import reconciling
from tasks.mail.steps import push_watch
from tasks.mail.steps.each_account import each_account
from tasks.planning.files.removing import Refused, remove_deleted, remove_orphans, told

MOST_BATCHES = 100
"""Batches of the newest jobs that are looked through for contradictions."""


@job(queue=Queue.MAINTENANCE)
def fallback_sync(ctx: JobContext, _payload: FallbackSyncPayload) -> Outcome:
    """Sync every account through history: pushes get lost without a trace."""
    return each_account(ctx, gmail.SyncPayload, reason="fallback")


@job(queue=Queue.MAINTENANCE)
def full_sync(ctx: JobContext, _payload: FullSyncPayload) -> Outcome:
    """Look through the last days of every inbox for what was never classified."""
    return each_account(ctx, gmail.SyncPayload, reason="full", force_full=True)


@job(queue=Queue.MAINTENANCE)
def renew_watches(ctx: JobContext, _payload: RenewWatchesPayload) -> Outcome:
    """Renew every account's push watch."""
    return each_account(ctx, gmail.RenewWatchPayload)


@job(queue=Queue.MAINTENANCE)
def sync_labels(ctx: JobContext, _payload: SyncLabelsPayload) -> Outcome:
    """Bring every account's labels up to date."""
    return each_account(ctx, gmail.SyncLabelsPayload)


@job(queue=Queue.MAINTENANCE, audits=push_watch.AUDITS)
def check_watches(ctx: JobContext, _payload: CheckWatchesPayload) -> Outcome:
    """Raise the alarm for accounts whose watch has expired or was not renewed in time."""
    return push_watch.report_lapsed(ctx)


@job(queue=Queue.MAINTENANCE)
def raise_alerts(ctx: JobContext, _payload: RaiseAlertsPayload) -> Outcome:
    """Raise the alerts that are due for the whole fleet: dead letters, refused messages and calls."""
    now = ctx.now()
    with ctx.fleet() as tx:
        due = alerts_due(
            alerts.count_letters(tx, since=look_from(now), window=WINDOW),
            alerts.parked_providers(tx),
            now,
            alerts.first_refusals(tx, since=look_from(now), window=WINDOW),
        )
        # One that was raised before is refused by its key.
        raised = ctx.enqueue(tx, *[payload_of(one) for one in due])
    return Done({"due": len(due), "raised": sum(one.created for one in raised)})


@job(queue=Queue.MAINTENANCE)
def delete_finished_jobs(ctx: JobContext, payload: DeleteFinishedJobsPayload) -> Outcome:
    """Delete finished jobs past their retention, for as long as there are any; their audit log stays."""
    keep_for = timedelta(seconds=ctx.settings.retention_s)
    after, deleted = payload.after or FIRST_ID, 0

    def delete() -> bool:
        nonlocal after, deleted
        with ctx.fleet() as tx:
            found = retention.delete_finished(tx, keep_for=keep_for, batch=BATCH, after=after)
        place = next_place(found, BATCH, ctx.now())
        after, deleted = place or FIRST_ID, deleted + found.deleted
        return place is not None

    is_more = ctx.at_pace(delete)
    return _go_on(ctx, DeleteFinishedJobsPayload(after=after) if is_more else None, {"deleted": deleted})


@job(queue=Queue.MAINTENANCE)
def delete_exported_audit(ctx: JobContext, _payload: DeleteExportedAuditPayload) -> Outcome:
    """Delete entries of the audit log that are in a file and past their time, for as long as there are any."""
    deleted = 0
    if ctx.settings.audit_retention_s is None:
        return Done({"deleted": deleted})
    keep_for = timedelta(seconds=ctx.settings.audit_retention_s)

    def delete() -> bool:
        nonlocal deleted
        with ctx.fleet() as tx:
            found = deletion.delete_some(tx, keep_for=keep_for)
        deleted += found.deleted
        return found.is_more

    is_more = ctx.at_pace(delete)
    return _go_on(ctx, DeleteExportedAuditPayload() if is_more else None, {"deleted": deleted})


@job(queue=Queue.MAINTENANCE)
def purge_expired_keys(ctx: JobContext, _payload: PurgeExpiredKeysPayload) -> Outcome:
    """Delete what is past its time, table by table, and end what can come to no good any more.

    What is in doubt stays, and what somebody has locked is left to the next tick: a row, or all of an org where a row
    takes others with it.
    """
    purged, orgs_put_off = Counter[str](), set[UUID]()

    def purge() -> bool:
        before, put_off_before = purged.copy(), len(orgs_put_off)
        for one in RETENTIONS:
            _forget(ctx, one, purged, orgs_put_off)
        for name, do in BY_HAND.items():
            with ctx.fleet() as tx:
                purged[name] += do(tx, batch=BATCH)
        most = dict.fromkeys(BY_HAND, BATCH) | {one.table: one.batch for one in RETENTIONS}
        is_full = any(purged[name] - before[name] >= batch for name, batch in most.items())
        return is_full or len(orgs_put_off) > put_off_before

    is_more = ctx.at_pace(purge)
    output = {**purged} | ({"orgs_put_off": len(orgs_put_off)} if orgs_put_off else {})
    return _go_on(ctx, PurgeExpiredKeysPayload() if is_more else None, output)


def _forget(ctx: JobContext, what: Retention, purged: Counter[str], orgs_put_off: set[UUID]) -> None:
    """Delete a batch. Adds the orgs of which somebody has locked what goes with a row."""
    with ctx.fleet() as tx:
        if not what.by_org:
            purged[what.table] += what.forget(tx)
            return
        org_ids = what.orgs(tx, besides=orgs_put_off)

    def forget(tx: Transaction, some: Sequence[UUID]) -> dict[str, int]:
        return {what.table: what.forget(tx, some)}

    orgs_put_off.update(ctx.for_orgs(org_ids, forget, purged, org_of=lambda org_id: org_id))


@job(queue=Queue.MAINTENANCE)
def expire_artifacts(ctx: JobContext, _payload: ExpireArtifactsPayload) -> Outcome:
    """Delete artifacts whose time is over, and remove the bytes of deleted ones, for as long as there are any."""
    removed, refused = Counter(expired=0, removed=0, bytes=0, forgotten=0), Refused()
    is_more = ctx.at_pace(lambda: remove_deleted(ctx, removed, refused))
    return _go_on(ctx, ExpireArtifactsPayload() if is_more else None, {**removed, **told(ctx, refused)})


@job(queue=Queue.MAINTENANCE)
def sweep_artifacts(ctx: JobContext, payload: SweepArtifactsPayload) -> Outcome:
    """Remove bytes that have lain in the store for a day without an artifact's row: those of jobs that died."""
    after, swept, refused = payload.after or "", Counter(seen=0, removed=0, bytes=0), Refused()

    def sweep() -> bool:
        nonlocal after
        after = remove_orphans(ctx, after, swept, refused) or ""
        return bool(after)

    is_more = ctx.at_pace(sweep)
    return _go_on(ctx, SweepArtifactsPayload(after=after) if is_more else None, {**swept, **told(ctx, refused)})


@job(queue=Queue.MAINTENANCE)
def charge_lost_reservations(ctx: JobContext, _payload: ChargeLostReservationsPayload) -> Outcome:
    """Charge what was set aside for model calls whose worker died: nobody knows whether they were billed."""
    charged = 0

    def charge() -> bool:
        nonlocal charged
        with ctx.fleet() as tx:
            batch = spending.charge_lost(tx, batch=BATCH)
        charged += batch
        return batch == BATCH

    ctx.at_pace(charge)
    return Done({"charged": charged})


@job(queue=Queue.MAINTENANCE, audits=("invariant.violated",))
def check_invariants(ctx: JobContext, _payload: CheckInvariantsPayload) -> Outcome:
    """Raise the alarm for rows of the ledger that contradict each other, among its newest jobs: each is a bug.

    All are counted, and some of each kind are shown, so that many of one kind hide no other.
    """
    wrong = Counter({"the audit log": 0})
    shown: list[str] = []
    for look in invariants.BOUNDED:
        with ctx.fleet() as tx:
            found = look(tx)
        wrong[look.__name__] += len(found)
        shown += found[: invariants.MOST_SHOWN]
        ctx.check()
    before, looks = invariants.NEWEST, 0

    def look_for_gaps() -> bool:
        nonlocal before, looks
        with ctx.fleet() as tx:
            gaps = invariants.audit_gaps(tx, before=before, batch=BATCH)
        shown.extend(gaps.wrong[: max(invariants.MOST_SHOWN - wrong["the audit log"], 0)])
        wrong["the audit log"] += len(gaps.wrong)
        before, looks = gaps.before or before, looks + 1
        return gaps.before is not None and looks < MOST_BATCHES

    ctx.at_pace(look_for_gaps)

    def write(tx: Transaction) -> None:
        for each in shown:
            audit.append(tx, ctx.job, "invariant.violated", {"violation": each[:1000]})
        if shown:
            tx.after_commit(
                lambda: ctx.log.error("invariants_violated", violations=wrong.total(), first=shown[0][:1000])
            )

    return Done({"violations": wrong.total()}, writes=write)


@job(queue=Queue.MAINTENANCE)
def reconcile_effects(ctx: JobContext, payload: ReconcileEffectsPayload) -> Outcome:
    """Have providers asked about effects whose job ended in doubt; tell a person of those that nobody can ask about.

    Each effect is asked about once a week at most; one that is in doubt after that is told as well. An org of which
    somebody has locked an effect or a key is left to the next tick.
    """
    place, counts = (payload.after or FIRST_ID, payload.after_key or ""), Counter(asked=0, told=0)

    def look() -> bool:
        nonlocal place
        found = reconciling.look(ctx, place, counts)
        place = found or (FIRST_ID, "")
        return found is not None

    is_more = ctx.at_pace(look)
    follow_up = ReconcileEffectsPayload(after=place[0], after_key=place[1]) if is_more else None
    return _go_on(ctx, follow_up, {**counts})


@job(queue=Queue.MAINTENANCE, audits=reconciling.AUDITS)
def resolve_effect(ctx: JobContext, payload: ResolveEffectPayload) -> Outcome:
    """Ask the provider whether an effect happened whose job has ended, and write down the answer.

    Runs in the effect's org. Nothing is repeated: a replay of the job finds the answer and goes on from there.
    Where the question is refused for good, nobody can tell.
    """
    return reconciling.resolve(ctx, payload)


@job(queue=Queue.MAINTENANCE)
def run_end_hook(ctx: JobContext, payload: RunEndHookPayload) -> Outcome:
    """Call an end-of-job hook that could not run when its job ended, in one transaction with this job's success.

    The ledger enqueues this job in the org of the ended one. Whatever the hook raises is retried.
    """

    def call(tx: Transaction) -> None:
        if not end_hooks.repeat(tx, ctx.job):
            ctx.log.warning("no_end_hook_to_run", ended_job=str(payload.job_id))

    return Done({"job_id": str(payload.job_id), "cause": payload.cause}, writes=call)


def _go_on(ctx: JobContext, follow_up: Payload | None, output: JsonObject) -> Outcome:
    """Done; with a follow-up that begins at once when there is more to do."""
    if follow_up is None:
        return Done(output)
    key = follow_up_key(ctx.job.job_type, ctx.now(), RUN)
    # Two runs may have come to different places; the one follow-up goes on from either.
    return Done(output, children=(follow_up.job(org_id=ctx.org_id, idempotency_key=key)._replace(folds=True),))

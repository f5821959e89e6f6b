"""The maintenance family: bounded, set-based housekeeping of the whole fleet, run by the system org."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from operator import attrgetter

from domain.jobs.effects import CannotTell, Doubt, Finding, conclude, sort_out
from domain.jobs.failures import Permanent
from domain.jobs.job import Cancel, Done, JsonObject, NewJob, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retention import FIRST_ID, RUN, follow_up_key, next_place
from domain.notifications.alerts.alert import payload_of
from domain.notifications.alerts.due import WINDOW, alerts_due, alerts_of_doubts, look_from
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
from engine.catalogue import catalogue, job
from engine.context import JobContext
from engine.enqueue import enqueue_jobs
from storage.access import api_requests
from storage.accounts import accounts, consents, expected_writes
from storage.audit import deletion
from storage.doubts import doubts
from storage.ledger import alerts, audit, end_hooks, invariants, refusals, retention
from storage.money import spending
from storage.notifications.email import orders as email_orders
from storage.planning import plans
from storage.postgres.apart import WITHIN_S_OF_JOB, together_or_apart
from storage.postgres.database import Transaction
from storage.rules import corrections
from storage.workflows import runs
from tasks.exchange.removing import Refused, remove_deleted, remove_orphans, told
from tasks.mail.each_account import each_account
from tasks.mail.mailbox_session import MAILBOX_AUDITS, Disconnected
from tasks.senders.email_sending import SENDER_AUDITS

BATCH = 1000
"""Rows per transaction: a second's work at most, so that no lock is held for long."""

FEW = 100
"""The same of rows that are large: a proposal's reasons."""

MOST_BATCHES = 100
"""Batches of the newest jobs that are looked through for contradictions."""

WATCH_MUST_BE_YOUNGER_THAN = timedelta(hours=24)
"""An account whose watch was not renewed within a day must alarm (docs: gmail-push.md#watch)."""


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


@job(queue=Queue.MAINTENANCE, audits=("watch.lapsed",))
def check_watches(ctx: JobContext, _payload: CheckWatchesPayload) -> Outcome:
    """Raise the alarm for accounts whose watch has expired or was not renewed in time."""
    with ctx.fleet() as tx:
        lapsed = accounts.without_watch(tx, ctx.now(), renewal=WATCH_MUST_BE_YOUNGER_THAN, limit=BATCH)

    # With the end of the job: an attempt that dies has raised no alarm.
    def write(tx: Transaction) -> None:
        for account in lapsed:
            audit.append(tx, ctx.job, "watch.lapsed", {"account_id": str(account.account_id)})
        if lapsed:
            tx.after_commit(lambda: ctx.log.error("watches_lapsed", accounts=len(lapsed)))

    return Done({"lapsed": len(lapsed)}, writes=write)


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
    """Delete guards, requests, refused messages, corrections, sent mail, proposals and workflows' runs past their time.

    What is in doubt stays. Requests for consent that nobody finished in time end here, too.
    """
    purged: Counter[str] = Counter()

    def purge() -> bool:
        with ctx.fleet() as tx:
            batch = {
                "guards": retention.purge_expired_keys(tx, batch=BATCH),
                "refusals": refusals.purge(tx, batch=BATCH),
                "expectations": expected_writes.purge(tx, limit=BATCH),
                "requests": api_requests.purge(tx, batch=BATCH),
                "corrections": corrections.purge(tx, now=ctx.now(), limit=BATCH),
                "consents": consents.end_overdue(tx, batch=BATCH),
                "mails": email_orders.forget(tx, batch=BATCH),
                "proposals": plans.forget_proposals(tx, batch=FEW),
                "workflows": runs.forget(tx, batch=BATCH),
            }
        purged.update(batch)
        return max(batch.values()) == BATCH or batch["proposals"] == FEW

    is_more = ctx.at_pace(purge)
    return _go_on(ctx, PurgeExpiredKeysPayload() if is_more else None, {**purged})


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

    def sort(some: Sequence[Doubt]) -> None:
        to_ask, to_tell = sort_out(some, _can_ask)
        with ctx.fleet() as tx:
            tx.wait_briefly()
            answers = enqueue_jobs(tx, [_question(ctx, each) for each in to_ask])
            # Was asked about before, in vain or just now.
            in_vain = [each for each, answer in zip(to_ask, answers, strict=True) if not answer.created and each.status]
            doubts.mark_unknown(tx, to_tell)
            raised = ctx.enqueue(tx, *[payload_of(one) for one in alerts_of_doubts([*to_tell, *in_vain])])
        counts.update(asked=sum(one.created for one in answers), told=sum(one.created for one in raised))

    def look() -> bool:
        nonlocal place
        with ctx.fleet() as tx:
            page = doubts.listed(tx, after=place, batch=BATCH)
        if left := together_or_apart(page.doubts, attrgetter("org_id"), sort, within_s=WITHIN_S_OF_JOB):
            counts.update(put_off=len(left))
        place = page.place or (FIRST_ID, "")
        return page.place is not None

    is_more = ctx.at_pace(look)
    follow_up = ReconcileEffectsPayload(after=place[0], after_key=place[1]) if is_more else None
    return _go_on(ctx, follow_up, {**counts})


@job(queue=Queue.MAINTENANCE, audits=("effect.resolved", *MAILBOX_AUDITS, *SENDER_AUDITS))
def resolve_effect(ctx: JobContext, payload: ResolveEffectPayload) -> Outcome:
    """Ask the provider whether an effect happened whose job has ended, and write down the answer.

    Runs in the effect's org. Nothing is repeated: a replay of the job finds the answer and goes on from there.
    Where the question is refused for good, nobody can tell.
    """
    with ctx.tx() as tx:
        doubt = doubts.read(tx, ctx.job, payload.key)
    if doubt is None:
        return Cancel("the effect is not in doubt any more")
    known = catalogue.find(doubt.job_type)
    finder = None if known is None else known.finder(doubt.key)
    if known is None or finder is None:
        return Cancel("nobody knows how to ask about it")
    payload_of_job = known.read(doubt.payload, doubt.payload_version)
    end = conclude(_answer(lambda: finder(ctx, payload_of_job, doubt.key)))

    def write(tx: Transaction) -> None:
        if doubts.conclude(tx, ctx.job, doubt, end.status, result=end.result, error=end.error):
            facts = {"key": doubt.key, "status": end.status.value, "job_type": doubt.job_type}
            audit.append(tx, ctx.job, "effect.resolved", facts)

    return Done({"key": doubt.key, "status": end.status.value}, writes=write)


@job(queue=Queue.MAINTENANCE)
def run_end_hook(ctx: JobContext, payload: RunEndHookPayload) -> Outcome:
    """Call an end-of-job hook that could not run when its job ended, in one transaction with this job's success.

    The ledger enqueues this job in the org of the ended one. Whatever the hook raises is retried.
    """

    def call(tx: Transaction) -> None:
        if not end_hooks.repeat(tx, ctx.job):
            ctx.log.warning("no_end_hook_to_run", ended_job=str(payload.job_id))

    return Done({"job_id": str(payload.job_id), "cause": payload.cause}, writes=call)


def _can_ask(doubt: Doubt) -> bool:
    known = None if doubt.job_type is None else catalogue.find(doubt.job_type)
    return known is not None and known.finder(doubt.key) is not None


def _answer(ask: Callable[[], Finding]) -> Finding:
    """What the provider says. Where it refuses the question for good, a person must hear of the doubt."""
    try:
        return ask()
    except (Permanent, Disconnected) as refusal:
        return CannotTell(f"the question was refused: {refusal.reason}")


def _question(ctx: JobContext, doubt: Doubt) -> NewJob:
    """The job that asks about an effect, in the effect's own org."""
    return ResolveEffectPayload(key=doubt.key, account_id=doubt.account_id).job(
        org_id=doubt.org_id, origin=ctx.job.origin
    )


def _go_on(ctx: JobContext, follow_up: Payload | None, output: JsonObject) -> Outcome:
    """Done; with a follow-up that begins at once when there is more to do."""
    if follow_up is None:
        return Done(output)
    key = follow_up_key(ctx.job.job_type, ctx.now(), RUN)
    # Two runs may have come to different places; the one follow-up goes on from either.
    return Done(output, children=(follow_up.job(org_id=ctx.org_id, idempotency_key=key)._replace(folds=True),))

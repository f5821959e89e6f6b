"""The dead-letter family: what is written when a job has died, and the alert that is sent to a person."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from domain.jobs.effects import Strategy
from domain.jobs.failures import Gone
from domain.jobs.job import Cancel, Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PERSISTENT
from domain.notifications.alerts.alert import Alert, AlertKind, alert_of, notification_of, notification_of_letter
from domain.notifications.alerts.due import is_told_to_the_org
from domain.notifications.built_in import ALERT
from domain.orgs.access.users import MANAGE
from domain.payloads.deadletter import QuarantinePayload, SendAlertPayload
from engine.catalogue import catalogue, job
from engine.context import JobContext
from observability.on_demand import on_demand
from providers.ports import AlertChannel, Notice
from storage.jobs import audit
from storage.jobs.replays import dead_letters
from storage.mail.accounts import accounts
from storage.notifications import notifications
from storage.orgs.access import users
from storage.postgres.database import Transaction

ANSWER_WITHIN_S = 10.0
"""How long one alert's call may take in all."""

ALERTS = "alerts"
"""The provider, whoever receives them: its limit, and the gate that a 429 closes."""


@job(queue=Queue.DEADLETTER, audits=("deadletter.raised",))
def quarantine(ctx: JobContext, payload: QuarantinePayload) -> Outcome:
    """Write that a job died: an audit event, a log record that monitoring watches, a notification to who runs the org.

    The alert to who runs the installation is raised by `maintenance.raise_alerts`, which sees the whole fleet and
    sends few.
    """
    with ctx.tx() as tx:
        letter = dead_letters.of_job(tx, payload.job_id)
    if letter is None or letter.state != "open":
        return Cancel("the dead letter is closed already")
    facts = {"dead_letter_id": str(letter.letter_id), "job_type": letter.job_type, "reason": letter.reason}

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, "deadletter.raised", facts | {"plan": letter.plan})
        # A type that nobody knows is named by whoever sent the message: each could be another one.
        if is_told_to_the_org(letter.job_type) and catalogue.find(letter.job_type) is not None:
            words, day = notification_of_letter(letter.job_type), ctx.now().date()
            _tell_org(ctx, tx, words, bucket=day.isoformat())
        tx.after_commit(lambda: ctx.log.error("deadletter_raised", **facts))

    return Done(facts, writes=write)


@job(queue=Queue.NOTIFICATIONS, retry=PERSISTENT, providers=(ALERTS,), audits=("alert.raised",))
def send_alert(ctx: JobContext, payload: SendAlertPayload) -> Outcome:
    """Tell who runs the installation, where an address is set, and who runs the org that the alert is about.

    An audit event and a log record stand for it in any case.
    """
    alert = alert_of(payload)
    facts = payload.document()
    words = notification_of(alert)
    notice = Notice(ctx.job.job_id, alert.kind.value, words["title"], words["text"], facts)
    with ctx.tx() as tx:
        # Before the call: a receiver that does not answer delays no other channel. Each attempt asks for the same.
        bucket, owner = f"{alert.kind}:{alert.since.isoformat()}", _mailbox_owner(tx, alert)
        _tell_org(ctx, tx, words, bucket=bucket, besides=owner)
    sent: JsonObject = {"sent": False}
    if ctx.settings.alert_url.get_secret_value():
        # Idempotent: an alert that comes twice has its id in both, and one that never comes is the worse.
        sent = ctx.effect(f"alert:{ctx.job.job_id}", partial(_send, ctx, notice), strategy=Strategy.IDEMPOTENT)

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, "alert.raised", facts | sent)
        tx.after_commit(lambda: ctx.log.error("alert_raised", **facts))

    return Done(sent, writes=write)


def _tell_org(
    ctx: JobContext, tx: Transaction, words: JsonObject, *, bucket: str, besides: Sequence[UUID] = ()
) -> None:
    """Notify owners and admins of the job's org. The installation's own org has no people."""
    people = [*users.of_roles(tx, ctx.org_id, MANAGE), *besides]
    notifications.notify_people(tx, ctx.org_id, people, ALERT, words, bucket=bucket, by=ctx.job.origin)


def _mailbox_owner(tx: Transaction, alert: Alert) -> tuple[UUID, ...]:
    """Who alone can connect the mailbox again, whatever their role; nobody for other alerts."""
    if alert.kind not in {AlertKind.CONSENT, AlertKind.CONSENT_BACK}:
        return ()
    try:
        return (accounts.get(tx, UUID(alert.subject)).user_id,)
    except (Gone, ValueError):
        return ()


def _send(ctx: JobContext, notice: Notice) -> JsonObject:
    return {"sent": True, "receiver_id": ctx.shared(ALERTS, partial(_make_channel, ctx)).send(notice)}


def _make_channel(ctx: JobContext) -> AlertChannel:
    settings = ctx.settings
    path, where = "providers.discord.webhook:DiscordWebhook", [settings.alert_url.get_secret_value()]
    if settings.alert_format != "discord":
        path = "providers.webhooks.signed:SignedWebhook"
        where.append(settings.alert_secret.get_secret_value())
    made: AlertChannel = on_demand(path)(*where, timeout_s=ANSWER_WITHIN_S, meter=ctx.meter(ALERTS), clock=ctx.clock)
    return made

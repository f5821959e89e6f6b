"""The dead-letter family: what is written when a job has died, and the alert that is sent to a person."""

from functools import partial

from domain.alerts.alert import alert_of, text_of, title_of
from domain.jobs.effects import Strategy
from domain.jobs.job import Cancel, Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PERSISTENT
from domain.payloads.deadletter import QuarantinePayload, SendAlertPayload
from engine.catalogue import job
from engine.context import JobContext
from observability.on_demand import on_demand
from providers.ports import AlertChannel, Notice
from storage.ledger import audit, dead_letters
from storage.postgres.database import Transaction

ANSWER_WITHIN_S = 10.0
"""How long one alert's call may take in all."""

ALERTS = "alerts"
"""The provider, whoever receives them: its limit, and the gate that a 429 closes."""


@job(queue=Queue.DEADLETTER, audits=("deadletter.raised",))
def quarantine(ctx: JobContext, payload: QuarantinePayload) -> Outcome:
    """Write that a job died: an audit event and a log record that monitoring watches.

    The alert to a person is raised by `maintenance.raise_alerts`, which sees the whole fleet and sends few.
    """
    with ctx.tx() as tx:
        letter = dead_letters.of_job(tx, payload.job_id)
    if letter is None or letter.state != "open":
        return Cancel("the dead letter is closed already")
    facts = {"dead_letter_id": str(letter.letter_id), "job_type": letter.job_type, "reason": letter.reason}

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, "deadletter.raised", facts | {"plan": letter.plan})
        tx.after_commit(lambda: ctx.log.error("deadletter_raised", **facts))

    return Done(facts, writes=write)


@job(queue=Queue.NOTIFICATIONS, retry=PERSISTENT, providers=(ALERTS,), audits=("alert.raised",))
def send_alert(ctx: JobContext, payload: SendAlertPayload) -> Outcome:
    """Tell a person, where an address is set; an audit event and a log record stand for it in any case."""
    alert = alert_of(payload)
    facts = payload.document()
    notice = Notice(ctx.job.job_id, alert.kind.value, title_of(alert), text_of(alert), facts)
    sent: JsonObject = {"sent": False}
    if ctx.settings.alert_url.get_secret_value():
        # Idempotent: an alert that comes twice has its id in both, and one that never comes is the worse.
        sent = ctx.effect(f"alert:{ctx.job.job_id}", partial(_send, ctx, notice), strategy=Strategy.IDEMPOTENT)

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, "alert.raised", facts | sent)
        tx.after_commit(lambda: ctx.log.error("alert_raised", **facts))

    return Done(sent, writes=write)


def _send(ctx: JobContext, notice: Notice) -> JsonObject:
    return {"sent": True, "receiver_id": ctx.shared(ALERTS, partial(_make_channel, ctx)).send(notice)}


def _make_channel(ctx: JobContext) -> AlertChannel:
    settings = ctx.settings
    url = settings.alert_url.get_secret_value()
    meter = ctx.meter(ALERTS)
    made: AlertChannel
    if settings.alert_format == "discord":
        made = on_demand("providers.discord.webhook:DiscordWebhook")(
            url, timeout_s=ANSWER_WITHIN_S, meter=meter, clock=ctx.clock
        )
    else:
        made = on_demand("providers.webhooks.signed:SignedWebhook")(
            url,
            settings.alert_secret.get_secret_value(),
            timeout_s=ANSWER_WITHIN_S,
            meter=meter,
            clock=ctx.clock,
        )
    return made

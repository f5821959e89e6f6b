"""One alert, and its words (docs: alerts.md#what-raises-an-alert). They name ids and codes; no mail, no address."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.jobs.job import JsonObject
from domain.payloads.deadletter import LONGEST_DETAIL, LONGEST_REFERENCE, LONGEST_SUBJECT, SendAlertPayload


class AlertKind(StrEnum):
    """What happened."""

    DEAD_LETTER = "dead_letter"
    """A job died, the first of its type in this window."""
    DEAD_LETTERS = "dead_letters"
    """How many jobs of a type died in a window that is over."""
    CONSENT = "consent"
    """The owner of a mailbox has to connect it again."""
    CONSENT_BACK = "consent_back"
    """The owner has connected it again."""
    CREDENTIALS = "credentials"
    """An org has no credentials at a provider, or the provider refuses them."""
    PROVIDER = "provider"
    """A provider refuses all calls, for so long that a person should look."""
    EFFECTS = "effects"
    """Nobody knows whether calls of a job type had their effect, and no provider can be asked."""
    REFUSED = "refused"
    """Messages of Celery's clients could not become jobs, the first of them in this window."""


@dataclass(frozen=True, slots=True)
class Alert:
    """What happened, to what, and since when."""

    kind: AlertKind
    subject: str
    """A job type, an account's id, a provider, or a provider and an org."""
    since: datetime
    """Of one kind and subject, the same time is the same alert."""
    count: int = 1
    detail: str = ""
    reference: str = ""
    """The id to look it up by."""


def payload_of(alert: Alert) -> SendAlertPayload:
    """The alert as the payload of its job; what is too long loses its end."""
    return SendAlertPayload(
        kind=alert.kind.value,
        subject=alert.subject[:LONGEST_SUBJECT],
        since=alert.since,
        count=alert.count,
        detail=alert.detail[:LONGEST_DETAIL],
        reference=alert.reference[:LONGEST_REFERENCE],
    )


def alert_of(payload: SendAlertPayload) -> Alert:
    """The alert that a job is to send."""
    return Alert(
        AlertKind(payload.kind), payload.subject, payload.since, payload.count, payload.detail, payload.reference
    )


def notification_of(alert: Alert) -> JsonObject:
    """The alert as a template says it to the people of the org that it is about."""
    return {"title": title_of(alert), "text": text_of(alert)}


def notification_of_letter(job_type: str) -> JsonObject:
    """What the people of an org are told of a dead job of theirs: of each of the type, the same."""
    return {
        "title": f"A job of type {job_type} died",
        "text": "See it with `celery -A tasks deadletters list`. Others of this type are there, too: there is one"
        " notification a day.",
    }


TITLES = {
    AlertKind.CONSENT: "A mailbox must be connected again",
    AlertKind.CONSENT_BACK: "A mailbox is connected again",
    AlertKind.CREDENTIALS: "An org needs other credentials",
    AlertKind.REFUSED: "A message of a Celery client was refused",
}


def title_of(alert: Alert) -> str:
    """One line, for a list or a telephone's screen."""
    match alert.kind:
        case AlertKind.DEAD_LETTER:
            return f"A job of type {alert.subject} died"
        case AlertKind.DEAD_LETTERS:
            return f"{alert.count} jobs of type {alert.subject} died"
        case AlertKind.PROVIDER:
            return f"Provider {alert.subject} refuses calls"
        case AlertKind.EFFECTS:
            return f"Effects of {alert.subject} are in doubt: {alert.count}"
        case _:
            return TITLES[alert.kind]


def text_of(alert: Alert) -> str:
    """What happened, and what to do about it."""
    since = f"{alert.since:%Y-%m-%d %H:%M} UTC"
    match alert.kind:
        case AlertKind.EFFECTS:
            return (
                f"Of calls on {alert.since:%Y-%m-%d} nobody knows whether they happened. The first: {alert.detail}."
                " Look at the provider, then say what you found: `celery -A tasks effects list`, `effects rule`."
            )
        case AlertKind.DEAD_LETTER:
            return (
                f"Code: {alert.detail}. See it with `celery -A tasks deadletters show {alert.reference}`."
                " Others of this type within the hour are counted, and their number follows when the hour is over."
            )
        case AlertKind.DEAD_LETTERS:
            return f"In the hour that began at {since}. See them with `celery -A tasks deadletters list`."
        case AlertKind.REFUSED:
            return (
                f"One of the {alert.subject} of Celery's clients is kept, and made no job. See why with"
                " `celery -A tasks jobs refused`, and what it said with"
                f" `celery -A tasks jobs refused-content {alert.reference}`. Others within the hour raise no alert."
            )
        case AlertKind.PROVIDER:
            gate = f"org_provider {alert.reference}" if alert.reference else f"provider {alert.subject}"
            return (
                f"{alert.detail}. Its jobs wait. Mend the cause, such as the key or the credit, then open the gate:"
                f" `celery -A tasks gates open {gate} --cause slow_down`."
            )
        case _:
            return _access_text(alert, since)


def _access_text(alert: Alert, since: str) -> str:
    """What happened to a consent or to credentials."""
    if alert.kind is AlertKind.CONSENT_BACK:
        return f"Account {alert.subject}, without consent since {since}. Its jobs go on."
    if alert.kind is AlertKind.CREDENTIALS:
        return f"{alert.subject}, since {since}. What needs them waits until others are set. Code: {alert.detail}."
    waits = "Its jobs wait until its owner connects it again."
    return f"Account {alert.subject}, since {since}. {waits} Code: {alert.detail}."

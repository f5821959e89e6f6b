"""A mailbox as a machine: consent, watch, history, what was sent, what waits, and what we did here today."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from domain.jobs.job import State
from domain.mail.actions.kinds import Inverse
from domain.mail.actions.status import ActionStatus
from gateway.console.derived import done_of, steps_of_thing
from gateway.console.frame import sees
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import id_of
from gateway.console.shown import TONES, in_words
from gateway.console.things import Things
from operations.approvals.approvals import list_approvals
from operations.jobs.gates import GateScope, list_gates
from operations.jobs.jobs import JobLine, list_jobs, read_job
from operations.mail.actions import ActionView, list_actions, read_action, undo_action
from operations.mail.mailboxes import MailboxStanding, read_standing, show_account
from operations.pages import Window

MOST_DONE = 50
MOST_GATES = 200
"""Closed gates that are looked through for those of the mailbox."""
WATCH_ENDS_SOON = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Gauge:
    """One thing to know of the mailbox, and whether it is well."""

    name: str
    text: str
    tone: str = ""
    href: str | None = None


def fill(look: Look) -> Mapping[str, Any]:
    """The mailbox that the address names, with its actions of today, the newest `MOST_DONE`."""
    found = look.call(read_standing, id_of(look.asked, "account_id"))
    org = str(found.org_id)
    look = replace(look, frame=replace(look.frame, org_id=found.org_id, things=Things(look.frame.base, org)))
    now = datetime.now(UTC)
    done = look.call(list_actions, Window(MOST_DONE), account_id=found.account_id)
    today = [one for one in done.items if one.created_at.astimezone(UTC).date() == now.date()]
    return {
        "found": found,
        "tone": TONES.get(found.status, "bad"),
        "gauges": [*_connection(found, now), *_reading(look, found, now), *_sending(look, found), *_gates(look, found)],
        "did": [_did(look, one) for one in today],
        "is_cut": len(today) == MOST_DONE,
        "steps": steps_of_thing(look.frame, show_account, found, {"account_id": str(found.account_id)}),
        "done": done_of(look.request, show_account),
    }


def _connection(found: MailboxStanding, now: datetime) -> list[Gauge]:
    consent = Gauge("Consent", f"{in_words(found.status)} since {_at(found.status_changed_at)}")
    if found.status != "active":
        return [replace(consent, tone="bad"), Gauge("Watch", "none without a consent", "bad")]
    if found.watch_expires_at is None:
        return [consent, Gauge("Watch", "none: mail is found by looking every few minutes", "warn")]
    left = found.watch_expires_at - now
    tone = "bad" if left <= timedelta() else "warn" if left < WATCH_ENDS_SOON else "good"
    word = "expired" if left <= timedelta() else "expires"
    return [consent, Gauge("Watch", f"{word} {_ago(found.watch_expires_at, now)}, {_at(found.watch_expires_at)}", tone)]


def _reading(look: Look, found: MailboxStanding, now: datetime) -> list[Gauge]:
    """How far the mailbox was read, and what made us look."""
    last = partial(_last_sync, look, found)
    read, push, poll = last(state=[State.SUCCEEDED]), last("push"), last("fallback")
    job = partial(_job_page, look)
    gauges = [
        Gauge(
            "History read",
            "not lately: no sync that succeeded was found" if read is None else _since(read, now),
            "warn" if read is None else "",
            job(read),
        ),
        Gauge("Last push", "none found" if push is None else _since(push, now), "", job(push)),
        Gauge("Last poll", "none found" if poll is None else _since(poll, now), "", job(poll)),
        Gauge(
            "Whole mailbox", f"looked through {_ago(found.full_synced_at, now)}" if found.full_synced_at else "never"
        ),
        Gauge("Newest mail", _ago(found.newest_mail_at, now) if found.newest_mail_at else "none is stored"),
    ]
    for one in found.backfills:
        words = f"{one.handled:,} of {one.ordered:,} done, {one.found:,} found, moved {_ago(one.changed_at, now)}"
        gauges.append(Gauge("Backfill", words, "busy", look.href(read_job, job_id=one.job_id)))
    return gauges


def _last_sync(
    look: Look, found: MailboxStanding, reason: str | None = None, *, state: list[State] | None = None
) -> JobLine | None:
    payload = [f"reason={reason}"] if reason else []
    jobs = look.call(
        list_jobs, Window(1), job_type=["gmail.sync"], account_id=found.account_id, payload=payload, state=state
    )
    return next(iter(jobs.items), None)


def _job_page(look: Look, job: JobLine | None) -> str | None:
    return None if job is None else look.href(read_job, job_id=job.job_id)


def _sending(look: Look, found: MailboxStanding) -> list[Gauge]:
    paused = found.sending_paused_until
    limit = f"Gmail's limit is reached: nothing is sent until {_at(paused)}" if paused else "Gmail has set no pause"
    waiting = look.href(list_approvals, account_id=found.account_id) if found.actions_waiting else None
    return [
        Gauge("Sent today", f"{found.sent_today:,} of the mailbox. {limit}.", "bad" if paused else ""),
        Gauge(
            "Wait for a person",
            f"{found.actions_waiting:,} action{'' if found.actions_waiting == 1 else 's'}",
            "warn" if waiting else "",
            waiting,
        ),
    ]


def _gates(look: Look, found: MailboxStanding) -> list[Gauge]:
    """The closed gates that keep the mailbox's jobs back, for whoever may see gates."""
    if not look.may(list_gates):
        return []
    keys = {
        (GateScope.FLEET, "*"), (GateScope.ORG, str(found.org_id)), (GateScope.ACCOUNT, str(found.account_id)),
        (GateScope.PROVIDER, "gmail"), (GateScope.ORG_PROVIDER, f"{found.org_id}:gmail"),
    }  # fmt: skip
    closed = [one for one in look.call(list_gates, Window(MOST_GATES)).items if (one.scope, one.key) in keys]
    return [
        Gauge("Gate closed", f"{in_words(one.scope)}: {one.reason}; {_until(one.until)}", "bad") for one in closed
    ] or [Gauge("Gates", "none is closed that keeps its jobs back", "good")]


def _did(look: Look, one: ActionView) -> Mapping[str, Any]:
    """An action, and how it is taken back."""
    can_undo = one.state is ActionStatus.DONE and one.inverse is not Inverse.NONE and one.undone_by is None
    can_undo = can_undo and sees(look.frame.visitor, undo_action)
    return {
        "at": f"{one.created_at.astimezone(UTC):%H:%M}",
        "words": f"{in_words(str(one.kind))} on message {one.message_id}",
        "by": one.requested_by or ("a rule or the model" if one.decision_id else ""),
        "state": in_words(str(one.state)),
        "tone": TONES.get(str(one.state), ""),
        "href": look.href(read_action, action_id=one.action_id),
        "undo_href": look.href(undo_action, action_id=one.action_id) if can_undo else None,
    }


def _at(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _until(at: datetime | None) -> str:
    return f"until {_at(at)}" if at else "until somebody opens it"


def _since(job: JobLine, now: datetime) -> str:
    return f"{_ago(job.finished_at or job.created_at, now)}, {in_words(job.state)}"


def _ago(at: datetime, now: datetime) -> str:
    """How long ago, or how soon, in the largest unit that fits."""
    seconds = round((now - at).total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if abs(seconds) >= 2 * length:
            number = f"{abs(seconds) // length} {unit}"
            return f"{number} ago" if seconds > 0 else f"in {number}"
    return "just now" if seconds >= 0 else "within two minutes"


MAILBOX = HandPage(path="accounts/show", title="Mailbox", fill=fill, asks=("account_id",), needs=read_standing)

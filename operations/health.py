"""The health of the fleet: what is wrong by what the ledger knows, and what to do about it."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from domain.jobs.gate_causes import Cause
from domain.jobs.job import SYSTEM_ORG
from domain.jobs.monitoring.runbooks import alert_of, runbook_of
from domain.notifications.alerts.due import is_long
from operations.call import Call
from operations.fleet_checks import FLEET_CHECKS, MOST_NAMED, LedgerCheck, Looking
from operations.operation import Area, OperatorsOnly, Record
from operations.pages import Page
from settings import Settings
from storage.jobs import gates, job_types, ledger, refusals
from storage.jobs.audit_log import counting, events, exports
from storage.mail.accounts import accounts, pushes
from storage.models.money import model_calls
from storage.notifications import alerts
from storage.orgs import moving
from storage.orgs.access import erasing
from storage.postgres.readiness import Check, installation_checks

HEALTH = Area("health", "See what is wrong with the fleet, and what to do about it.")
FLEET = OperatorsOnly("the health is that of the fleet, and an API key is of one org")
WATCH_RENEWAL = timedelta(days=2)
"""Watches are renewed daily: one that missed two renewals is in trouble, though it lasts for seven days."""
PUSHES_WITHIN = timedelta(days=1)
"""They are counted by day: yesterday's and today's."""
ANSWERS_WITHIN = timedelta(hours=1)
MOST_UNUSABLE = 10
"""Answers of an hour that cannot be used; fewer are what some mail brings about. It takes half of all calls, too: a
model or a release that the vendor's requests no longer fit shows in nearly each of them."""
EXPORTED_WITHIN = timedelta(hours=26)
"""An export a day, and time to make it: a shorter retention alarms nobody between two of them."""
REFUSED_WITHIN = timedelta(hours=1)
ALERT_LOST_WITHIN = timedelta(hours=1)
"""An alert that could not be delivered raises no other; this is where it is seen."""
COUNTED_WITHIN = timedelta(minutes=2)
"""A worker counts every few seconds; what is shown of the past is that old."""
VIOLATED_WITHIN = timedelta(days=1)
MOVED_WITHIN = timedelta(hours=1)
"""A move takes minutes; one that was cut off waits for somebody who asks for it again."""
LACKING = "each job that they claim goes back and rests for 30 s, of "


class HealthFinding(Record):
    """One thing that must be so, and what was seen of it."""

    plural: ClassVar = "findings"
    name: str
    ok: bool
    finding: str
    remedy: str = Field(description="What to do about it; empty where nothing is to be done.")
    runbook: str = Field(description="The page that leads through it at night; empty where the remedy says all.")


def finding_of(check: Check, settings: Settings) -> HealthFinding:
    """A check as people see it, with its runbook where it is not well."""
    runbook = "" if check.ok else runbook_of(alert_of(check.name), settings.runbook_url)
    return HealthFinding(name=check.name, ok=check.ok, finding=check.finding, remedy=check.remedy, runbook=runbook)


@HEALTH.look("list", FLEET)
def list_health_findings(call: Call) -> Page[HealthFinding]:
    """List what is so and what is not by what the ledger knows, what is wrong first.

    The broker and the settings are examined by `celery -A tasks doctor`.
    """
    with call.reading() as tx:
        look = Looking(tx, call.settings, ledger.read_time(tx))
        # A fleet that shows no metrics may count nothing: its charts are empty, and its jobs run.
        found = [counting_check(look), promise_check(look), *(check(look) for _, check in LEDGER_CHECKS)]
    found += installation_checks(call.database)
    return Page([finding_of(one, call.settings) for one in sorted(found, key=lambda one: one.ok)], None)


def counting_check(look: Looking) -> Check:
    """Whether somebody counts what happens, for metrics, history and kinds of failure."""
    counted_at = counting.counted_at(look.tx)
    remedy = "give a worker a metrics port: POSTROOM_METRICS_PORT"
    if counted_at is None:
        return Check("counting", ok=False, finding="nothing was ever counted: charts are empty", remedy=remedy)
    lag = look.now - counted_at
    finding = f"what happened is counted up to {counted_at:%Y-%m-%d %H:%M:%S} UTC, {lag.total_seconds():.0f} s ago"
    return Check("counting", ok=lag <= COUNTED_WITHIN, finding=finding, remedy="" if lag <= COUNTED_WITHIN else remedy)


def promise_check(look: Looking) -> Check:
    """Whether the hourly look at the ledger found rows that contradict each other (docs/explanation/promises.md)."""
    last = next(iter(events.named(look.tx, SYSTEM_ORG, "invariant.violated", limit=1)), None)
    if last is None or look.now - last.at > VIOLATED_WITHIN:
        since = "" if last is None else f" since {last.at:%Y-%m-%d %H:%M} UTC"
        return Check("promises", ok=True, finding=f"the audit log has no row that contradicts another{since}")
    remedy = "each is a bug: report it with the audit events invariant.violated"
    finding = f"rows contradicted each other at {last.at:%Y-%m-%d %H:%M} UTC"
    return Check("promises", ok=False, finding=finding, remedy=remedy)


def answers_check(look: Looking) -> Check:
    """Whether what the language model says can be used."""
    found = model_calls.count_unusable(look.tx, within=ANSWERS_WITHIN)
    finding = f"{found.unusable} of {found.calls} of the last hour could not be used"
    if found.unusable < MOST_UNUSABLE or found.unusable * 2 < found.calls:
        return Check("model answers", ok=True, finding=finding)
    remedy = (
        "see that POSTROOM_CLASSIFY_MODEL, POSTROOM_CLASSIFY_FIRST_MODEL and POSTROOM_DRAFT_MODEL name models that do"
        " what is asked of them"
    )
    finding += f"; the vendor refused the latest: {found.latest}" if found.latest else ""
    return Check("model answers", ok=False, finding=finding, remedy=remedy)


def gate_check(look: Looking) -> Check:
    """Which gates somebody has closed; they are nothing wrong, and the likeliest reason why jobs wait."""
    paused = [gate for gate in gates.closed(look.tx) if gate.cause is Cause.PAUSE]
    if not paused:
        return Check("gates", ok=True, finding="nobody has closed one")
    named = "; ".join(f"{gate.scope} {gate.key}".strip() + f": {gate.reason}" for gate in paused[:MOST_NAMED])
    more = f"; and {len(paused) - MOST_NAMED} more" if len(paused) > MOST_NAMED else ""
    return Check("gates", ok=True, finding=f"{len(paused)} closed, whose jobs wait: {named}{more}")


def provider_check(look: Looking) -> Check:
    """Whether a provider refuses all calls for so long that a person should look: a refused key, spent credit."""
    parked = [park for park in alerts.parked_providers(look.tx) if is_long(park)]
    if not parked:
        return Check("providers", ok=True, finding="none refuses calls")
    finding = "; ".join(f"{park.provider} until {park.until:%Y-%m-%d %H:%M} UTC: {park.reason}" for park in parked)
    remedy = (
        "mend the key, the credit or the model's name, start the workers anew, and open the gate:"
        f" celery -A tasks gates open provider {parked[0].provider} --cause slow_down"
        " (docs/howto/mend-a-parked-provider.md)"
    )
    return Check("providers", ok=False, finding=finding, remedy=remedy)


def refusal_check(look: Looking) -> Check:
    """Whether messages of Celery's clients were refused lately: their clients may never hear of it."""
    lately, kept = (alerts.count_refusals(look.tx, within=within) for within in (REFUSED_WITHIN, refusals.KEPT_FOR))
    finding = f"{lately} of the last hour, {kept} of the last {refusals.KEPT_FOR.days} days, which are kept"
    remedy = "mend the client that sends them: celery -A tasks jobs refused" if lately else ""
    return Check("refused messages", ok=not lately, finding=finding, remedy=remedy)


def package_check(look: Looking) -> Check:
    """Whether each worker has the packages' job types that its queues carry; one that has not gives the jobs back.

    Of job types that no worker has any more nothing is said, unless their jobs wait.
    """
    found = job_types.packages(look.tx)
    lacking = [one for one in found if one.knowing < one.workers]
    if short := [one for one in lacking if one.knowing or job_types.is_any_waiting(look.tx, one.job_types)]:
        finding = "; ".join(
            f"{one.workers - one.knowing} of {one.workers} workers of {one.queue} lack {one.package}: {LACKING}"
            f"{', '.join(one.job_types[:MOST_NAMED])}"
            for one in short[:MOST_NAMED]
        )
        names = ", ".join(sorted({one.package for one in short}))
        remedy = f"install {names} there, or name its modules in POSTROOM_JOBS, and start the worker anew"
        return Check("packages", ok=False, finding=finding, remedy=remedy)
    named = "; ".join(f"{one.package} in {one.queue}: {', '.join(one.job_types)}" for one in found)
    return Check("packages", ok=True, finding=named or "no job types but the fleet's own")


def alert_check(look: Looking) -> Check:
    """Whether alerts go to somebody, and arrived lately."""
    lost = alerts.undelivered(look.tx, within=ALERT_LOST_WITHIN)
    if lost:
        remedy = "see why: celery -A tasks jobs list --job-type deadletter.send_alert; then mend POSTROOM_ALERT_URL"
        return Check("alerts", ok=False, finding=f"{lost} could not be delivered", remedy=remedy)
    if not look.settings.alert_url.get_secret_value():
        return Check("alerts", ok=True, finding="only logged and audited: POSTROOM_ALERT_URL is not set")
    return Check("alerts", ok=True, finding="they are delivered")


def audit_check(look: Looking) -> Check:
    """Whether the audit log leaves as its setting says: it does not before it is exported and counted."""
    seconds = look.settings.audit_retention_s
    if seconds is None:
        return Check("audit log", ok=True, finding="kept for ever: POSTROOM_AUDIT_RETENTION_S is not set")
    keep_for = timedelta(seconds=seconds)
    found = exports.measure(look.tx, keep_for=keep_for)
    if found.since is not None and look.now - found.since > max(keep_for, EXPORTED_WITHIN):
        until = f"after {found.since:%Y-%m-%d %H:%M} UTC" if found.is_exported else "at all"
        finding = f"nothing was exported {until}, so the log grows beyond POSTROOM_AUDIT_RETENTION_S"
        remedy = "run, daily: celery -A tasks audit export --to DIRECTORY"
        return Check("audit log", ok=False, finding=finding, remedy=remedy)
    if found.is_uncounted:
        finding = "exported entries past their time wait to be counted for the metrics"
        remedy = "give a worker a metrics port: POSTROOM_METRICS_PORT"
        return Check("audit log", ok=False, finding=finding, remedy=remedy)
    return Check("audit log", ok=True, finding="exported within its time")


def push_check(look: Looking) -> Check:
    """Which pushes were acknowledged and thrown away lately; each mailbox is looked at by the schedule, too."""
    since = (look.now - PUSHES_WITHIN).date()
    found = pushes.refused_since(look.tx, since)
    if not found:
        return Check("pushes", ok=True, finding=f"none was thrown away since {since}")
    counted: Counter[str] = Counter()
    for row in found:
        counted[row.reason] += row.count
    named = ", ".join(f"{count} as {reason}" for reason, count in counted.most_common())
    return Check("pushes", ok=True, finding=f"thrown away since {since}: {named}")


def watch_check(look: Looking) -> Check:
    """Whether the watch of every active mailbox was renewed in time."""
    silent = accounts.without_watch(look.tx, look.now, renewal=WATCH_RENEWAL)
    if not silent:
        return Check("watches", ok=True, finding="those of all active mailboxes were renewed in time")
    names = ", ".join(account.email for account in silent[:5]) + (", …" if len(silent) > 5 else "")  # noqa: PLR2004 - a few say enough
    remedy = (
        "enqueue gmail.renew_watch for them, or see why it fails:"
        " celery -A tasks jobs list --job-type gmail.renew_watch"
    )
    return Check("watches", ok=False, finding=f"{len(silent)} without a fresh watch: {names}", remedy=remedy)


def table_check(look: Looking) -> Check:
    """Whether each table of a package that has a fence has its erasure rule (docs: bring-your-own-jobs.md)."""
    found = erasing.tables_without_rule(look.tx)
    if not found:
        return Check("own tables", ok=True, finding="each with a fence has its erasure rule")
    finding = f"without an erasure rule, so that nobody can be erased, and no org moves: {', '.join(found)}"
    remedy = f"as the database's owner: call postroom.erasure_rule('{found[0]}')"
    return Check("own tables", ok=False, finding=finding, remedy=remedy)


def move_check(look: Looking) -> Check:
    """Whether a move of an org was cut off, or a copy of an org that stayed in its cell was left here."""
    found = moving.long_under_way(look.tx, MOVED_WITHIN)
    if not found:
        return Check("moves of orgs", ok=True, finding="none has been under way for long")
    org_id, first = found[0]
    here = look.settings.cell
    is_copy = first.state == moving.ARRIVING
    what = (
        f"a copy of the org {org_id} from {first.cell}, which nobody has opened"
        if is_copy
        else f"the org {org_id} is on its way to {first.cell}, and nothing of it runs"
    )
    finding = f"{len(found)}, the oldest since {first.since:%Y-%m-%d %H:%M} UTC: {what}"
    where, to = (first.cell, here) if is_copy else (here, first.cell)
    remedy = (
        f"in the cell {where}: celery -A tasks orgs move {org_id} --to {to} goes on, and"
        f" celery -A tasks orgs stay {org_id} --cell {to} lets the org stay and removes the copy"
    )
    return Check("moves of orgs", ok=False, finding=finding, remedy=remedy)


LEDGER_CHECKS: Sequence[tuple[str, LedgerCheck]] = (
    *FLEET_CHECKS,
    ("pushes", push_check),
    ("watches", watch_check),
    ("model answers", answers_check),
    ("gates", gate_check),
    ("providers", provider_check),
    ("refused messages", refusal_check),
    ("packages", package_check),
    ("alerts", alert_check),
    ("audit log", audit_check),
    ("own tables", table_check),
    ("moves of orgs", move_check),
)
"""What the ledger alone knows, by name, and `doctor` ends with the status 1 for."""

"""Jobs: one line to filter them, what happened over time, the list, and what can be done to all that match."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.monitoring.history import LENGTHS, Step
from domain.jobs.replays.bulk_filter import BulkVerb
from gateway.console.charts import Chart, Series
from gateway.console.frame import CURSOR
from gateway.console.pages import HandPage, Look
from gateway.console.pages.jobs.filter_line import LINE, NAMES, JobLook, read_line, written_line
from gateway.console.things import ORG, Things
from operations.jobs.bulk_actions import preview_bulk_action
from operations.jobs.history import list_job_history
from operations.jobs.jobs import list_jobs

SHOWN = 50
CHART_BY_DEFAULT = timedelta(days=1)
STEPS = ((timedelta(hours=4), Step.MINUTE), (timedelta(days=3), Step.TEN_MINUTES), (timedelta(days=60), Step.HOUR))
"""Up to which range a chart has each step; a longer one has days."""
QUICK = (
    ("all", ""), ("unfinished", "state:unfinished"), ("running", "state:claimed,running"),
    ("troubled", "state:troubled"), ("dead", "state:dead"), ("last hour", "since:1h"), ("last day", "since:1d"),
)  # fmt: skip
"""Filters that are a press away."""
VERBS = (BulkVerb.RETRY, BulkVerb.CANCEL)


def fill(look: Look) -> Mapping[str, Any]:
    """The jobs that the line asks for, the newest first; what can be done to all of them, or to some."""
    line = " ".join(f"{look.asked.get(LINE, '')} {written_line(look.asked)}".split())
    quick = [{"words": words, "href": _address(look, one), "is_chosen": one == line} for words, one in QUICK]
    shown: dict[str, Any] = {
        "line": line,
        "quick": quick,
        "trouble": None,
        "chart": None,
        "no_chart": "",
        "listing": None,
    }
    now = datetime.now(UTC)
    try:
        wanted = read_line(line, now)
        look = _of_org(look, wanted)
        found = look.call(list_jobs, look.window(SHOWN), **wanted.parameters)
    except Invalid as refusal:
        if refusal.field == CURSOR:
            raise
        reason = refusal.reason if refusal.field == LINE else f"{refusal.field}: {refusal.reason}"
        return shown | {"trouble": reason, "is_refused": True}
    chart, no_chart = _chart(look, wanted, now)
    states = frozenset(wanted.parameters.get("state", ()))
    verbs = [one for one in VERBS if states <= one.states] if look.may(preview_bulk_action) else []
    return shown | {
        "chart": chart,
        "no_chart": no_chart,
        "listing": look.table(list_jobs, found),
        "verbs": verbs,
        "only": wanted.typed,
        "frame": look.frame,
    }


def _of_org(look: Look, wanted: JobLook) -> Look:
    """The same look for the org that the line names by its name or id."""
    if wanted.org is None:
        return look
    named = next((one for one, name in look.frame.orgs if wanted.org in {one, name}), None)
    if named is None:
        raise Invalid(LINE, f"org:{wanted.org[:60]} is no org that you see; a name with blanks is chosen in the head")
    frame = replace(
        look.frame, org_id=look.frame.visitor.rights.org_of(UUID(named)), things=Things(look.frame.base, named)
    )
    return replace(look, frame=frame)


def _chart(look: Look, wanted: JobLook, now: datetime) -> tuple[Chart | None, str]:
    """What began and ended in the range, whatever the state; and why there is no chart."""
    given = wanted.parameters
    before = given.get("before", now)
    since = given.get("since", before - CHART_BY_DEFAULT)
    is_of_org = look.frame.org_id is not None
    if is_of_org and "queue" in given:
        return None, "What happened over time is kept by job type for an org, and not by queue."
    step = next((step for longest, step in STEPS if before - since <= longest), Step.DAY)
    step = Step.HOUR if is_of_org and step in {Step.MINUTE, Step.TEN_MINUTES} else step
    types, queues = given.get("job_type"), [given["queue"]] if "queue" in given else None
    try:
        points = look.call(list_job_history, since=since, before=before, step=step, job_type=types, queue=queues).items
    except Invalid as refusal:
        return None, refusal.reason
    series = [
        Series("succeeded", [one.succeeded for one in points], "good"),
        Series("failed", [one.failed for one in points], "bad"),
        Series("canceled", [one.canceled for one in points], "soft"),
    ]
    of_type = f", of {', '.join(types)}" if types else ""
    return Chart(
        f"Jobs that ended{of_type}", "bars", [one.at for one in points], LENGTHS[step], series, since, before
    ), ""


def _address(look: Look, line: str) -> str:
    said = {LINE: line, ORG: str(look.frame.org_id or "")}
    return f"{look.frame.base}/jobs?{urlencode({name: one for name, one in said.items() if one})}"


JOBS_PAGE = HandPage(
    path="jobs", title="Jobs", fill=fill, needs=list_jobs, asks=(LINE, *NAMES.values(), "payload")
)  # fmt: skip

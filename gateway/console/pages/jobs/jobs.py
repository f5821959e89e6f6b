"""Jobs: one line to filter them, what happened over time, the list, and what can be done to all that match."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from urllib.parse import urlencode
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job import State
from domain.jobs.monitoring.history import LENGTHS, Step
from domain.jobs.replays.bulk_filter import BulkVerb
from gateway.console.charts import Chart, Series
from gateway.console.derived import Listing
from gateway.console.derived import Step as Link
from gateway.console.frame import CURSOR
from gateway.console.pages import HandPage, Look
from gateway.console.pages.jobs.filter_line import LINE, JobLook, read_line, written_line
from gateway.console.things import ORG, Things
from operations.jobs.bulk_actions import preview_bulk_action
from operations.jobs.history import list_job_history
from operations.jobs.jobs import list_jobs
from operations.pages import Window

SHOWN = 50
CHART_BY_DEFAULT = timedelta(days=1)
STEPS = ((timedelta(hours=4), Step.MINUTE), (timedelta(days=3), Step.TEN_MINUTES), (timedelta(days=60), Step.HOUR))
"""Up to which range a chart has each step; a longer one has days."""
QUICK = (
    ("all", ""), ("unfinished", "state:unfinished"), ("running", "state:claimed,running"),
    ("troubled", "state:troubled"), ("dead", "state:dead"), ("last hour", "since:1h"), ("last day", "since:1d"),
)  # fmt: skip
"""Filters that are a press away."""


@dataclass(frozen=True, slots=True)
class Quick:
    """A filter that is a press away."""

    words: str
    href: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class JobsPage:
    """What the page of jobs shows."""

    line: str
    trouble: str | None
    quick: Sequence[Quick]
    chart: Chart | None
    no_chart: str
    listing: Listing | None
    verbs: Sequence[Link]


def fill(look: Look) -> JobsPage:
    """The jobs that the line asks for, the newest first."""
    line = look.asked.get(LINE, written_line(look.asked)).strip()
    quick = [Quick(words, _address(look, one), one == line) for words, one in QUICK]
    now = datetime.now(UTC)
    try:
        wanted = read_line(line, now)
        look = _of_org(look, wanted)
        window = Window(SHOWN, look.request.query_params.get(CURSOR))
        found = look.call(list_jobs, window=window, **wanted.parameters)
    except Invalid as refusal:
        if refusal.field == CURSOR:
            raise
        reason = refusal.reason if refusal.field == LINE else f"{refusal.field}: {refusal.reason}"
        return JobsPage(line, reason, quick, None, "", None, ())
    chart, no_chart = _chart(look, wanted, now)
    return JobsPage(line, None, quick, chart, no_chart, look.table(list_jobs, found), _verbs(look, wanted))


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
    types, queues = ([given[name]] if name in given else None for name in ("job_type", "queue"))
    try:
        points = look.call(list_job_history, since=since, before=before, step=step, job_type=types, queue=queues).items
    except Invalid as refusal:
        return None, refusal.reason
    series = [
        Series("succeeded", [one.succeeded for one in points], "good"),
        Series("failed", [one.failed for one in points], "bad"),
        Series("canceled", [one.canceled for one in points], "soft"),
    ]
    of_type = f", of {types[0]}" if types else ""
    return Chart(
        f"Jobs that ended{of_type}", "bars", [one.at for one in points], LENGTHS[step], series, since, before
    ), ""


def _verbs(look: Look, wanted: JobLook) -> Sequence[Link]:
    """What can be done to all jobs that match: for the states that are asked for."""
    states = frozenset(map(State, wanted.parameters.get("state", ())))
    possible = [verb for verb in (BulkVerb.RETRY, BulkVerb.CANCEL) if states <= verb.states]
    if not look.may(preview_bulk_action):
        return []
    org = [(ORG, str(look.frame.org_id))] if look.frame.org_id else []
    base = f"{look.frame.base}/{preview_bulk_action.area}/{preview_bulk_action.command}"
    return [
        Link(
            f"{verb.value.capitalize()} …",
            f"{base}?{urlencode([('verb', verb.value), *wanted.typed, *org], errors='replace')}",
            preview_bulk_action.text,
            verb is BulkVerb.CANCEL,
        )
        for verb in possible
    ]


def _address(look: Look, line: str) -> str:
    said = {LINE: line, ORG: str(look.frame.org_id or "")}
    return f"{look.frame.base}/jobs?{urlencode({name: one for name, one in said.items() if one})}"


JOBS_PAGE = HandPage(
    path="jobs", title="Jobs", shown=JobsPage, fill=fill, needs=list_jobs,
    is_refused=attrgetter("trouble"), asks=(LINE, "job_type", "state", "queue", "since", "before", "payload"),
)  # fmt: skip

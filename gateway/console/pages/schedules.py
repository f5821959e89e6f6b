"""Schedules: each in words, its next runs in its own zone and in UTC, how the latest ended, and what can be done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from domain.jobs.scheduling.cron import Timetable
from domain.jobs.scheduling.cron_words import due_times, in_words
from gateway.console.derived import Step, done_of, steps_of_list
from gateway.console.frame import CURSOR
from gateway.console.pages import HandPage, Look
from gateway.console.shown import TONES
from operations.jobs.jobs import read_job
from operations.jobs.schedules import (
    ScheduleView,
    add_schedule,
    list_schedules,
    pause_schedule,
    remove_schedule,
    resume_schedule,
    run_schedule,
)
from operations.pages import SHOWN_BY_DEFAULT, Window

NEXT_RUNS = 3


@dataclass(frozen=True, slots=True)
class NextRun:
    """A due time on the clocks of the schedule's zone, and in UTC."""

    local: str
    utc: str


@dataclass(frozen=True, slots=True)
class ScheduleLine:
    """A schedule as the page says it."""

    name: str
    job_type: str
    words: str
    cron: str
    zone: str
    missed: str
    standing: str
    tone: str
    next_runs: Sequence[NextRun]
    last_run: str
    last_job_href: str | None
    last_state: str
    last_tone: str
    deeds: Sequence[Step]


@dataclass(frozen=True, slots=True)
class SchedulesShown:
    """What the page of schedules shows."""

    lines: Sequence[ScheduleLine]
    needs_org: bool
    steps: Sequence[Step]
    add_href: str | None
    done: str | None
    next_href: str | None


def fill(look: Look) -> SchedulesShown:
    """A page of schedules, by org and name."""
    steps = steps_of_list(look.frame, list_schedules, {})
    done = done_of(look.request, list_schedules)
    add_href = look.href(add_schedule) if look.may(add_schedule) else None
    if look.frame.needs_org(list_schedules):
        return SchedulesShown([], needs_org=True, steps=steps, add_href=None, done=done, next_href=None)
    found = look.call(list_schedules, Window(SHOWN_BY_DEFAULT, look.request.query_params.get(CURSOR) or None))
    next_href = look.href(list_schedules, cursor=found.next_cursor) if found.next_cursor else None
    lines = [_line(look, one) for one in found.items]
    return SchedulesShown(lines, needs_org=False, steps=steps, add_href=add_href, done=done, next_href=next_href)


def _line(look: Look, one: ScheduleView) -> ScheduleLine:
    things = look.frame.things
    standing, tone = "runs", "good"
    if not one.enabled:
        standing, tone = (f"stopped: {one.stopped}", "bad") if one.stopped else ("paused", "warn")
    changing = pause_schedule if one.enabled else resume_schedule
    deeds = [
        Step(words, things.page(deed, {"name": one.name}, one.org_id), deed.text, deed is remove_schedule)
        for words, deed in (
            ("Run now", run_schedule),
            ("Pause" if one.enabled else "Resume", changing),
            ("Remove", remove_schedule),
        )
        if look.frame.visitor.role.includes(deed.least)
    ]
    job = things.page(read_job, {"job_id": one.last_job_id}, one.org_id) if one.last_job_id else None
    return ScheduleLine(
        one.name, one.job_type, in_words(one.cron), one.cron, one.zone, one.missed.value.replace("_", " "),
        standing, tone, next_runs(one), _utc(one.last_run_at) if one.last_run_at else "", job,
        str(one.last_job_state or ""), TONES.get(str(one.last_job_state), ""), deeds,
    )  # fmt: skip


def next_runs(one: ScheduleView) -> Sequence[NextRun]:
    """The next due times of a schedule that runs."""
    if not one.enabled:
        return []
    zone = ZoneInfo(one.zone)
    found = due_times(Timetable(one.cron, one.zone, one.missed), one.next_run_at, NEXT_RUNS)
    return [NextRun(f"{at.astimezone(zone):%a %d %b %H:%M %Z}", _utc(at)) for at in found]


def _utc(at: datetime) -> str:
    return f"{at.astimezone(ZoneInfo('UTC')):%Y-%m-%d %H:%M}"


SCHEDULES = HandPage(
    path="schedules", title="Schedules", shown=SchedulesShown, fill=fill, needs=list_schedules, key="s", order=80
)

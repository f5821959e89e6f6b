"""Schedules: each in words, its next runs in its own zone and in UTC, how the latest ended, and what can be done."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

from domain.jobs.scheduling.cron import Timetable
from domain.jobs.scheduling.cron_words import due_times, in_words
from gateway.console.derived import done_of, step_to
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
from operations.pages import Page

NEXT_RUNS = 3


def fill(look: Look) -> Mapping[str, Any]:
    """A page of schedules, by org and name."""
    needs_org = look.frame.needs_org(list_schedules)
    found = Page[ScheduleView]([], None) if needs_org else look.call(list_schedules, look.window())
    return {
        "lines": [_line(look, one) for one in found.items],
        "needs_org": needs_org,
        "add_href": look.href(add_schedule) if look.may(add_schedule) else None,
        "done": done_of(look.request, list_schedules),
        "next_href": look.href(list_schedules, cursor=found.next_cursor) if found.next_cursor else None,
    }


def _line(look: Look, one: ScheduleView) -> Mapping[str, Any]:
    """A schedule in words, with what can be done with it."""
    standing, tone = "runs", "good"
    if not one.enabled:
        standing, tone = (f"stopped: {one.stopped}", "bad") if one.stopped else ("paused", "warn")
    deeds = (
        ("Run now", run_schedule),
        ("Pause", pause_schedule) if one.enabled else ("Resume", resume_schedule),
        ("Remove", remove_schedule),
    )
    href = look.frame.things.page(read_job, {"job_id": one.last_job_id}, one.org_id) if one.last_job_id else None
    return {
        "schedule": one,
        "when": in_words(one.cron),
        "standing": standing,
        "tone": tone,
        "next_runs": next_runs(one),
        "last_job_href": href,
        "last_tone": TONES.get(str(one.last_job_state), ""),
        "deeds": [
            replace(step_to(look.frame, deed, {"name": one.name}, one.org_id), words=words)
            for words, deed in deeds
            if look.frame.visitor.role.includes(deed.least)
        ],
    }


def next_runs(one: ScheduleView) -> Sequence[tuple[str, str]]:
    """The next due times of a schedule that runs: on the clocks of its zone, and in UTC."""
    if not one.enabled:
        return []
    zone = ZoneInfo(one.zone)
    found = due_times(Timetable(one.cron, one.zone, one.missed), one.next_run_at, NEXT_RUNS)
    return [(f"{at.astimezone(zone):%a %d %b %H:%M %Z}", f"{at.astimezone(UTC):%Y-%m-%d %H:%M}") for at in found]


SCHEDULES = HandPage(path="schedules", title="Schedules", fill=fill, needs=list_schedules, key="s", order=80)

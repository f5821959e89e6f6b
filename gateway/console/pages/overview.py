"""The overview: how the fleet is in words, what waits in each queue, what happened over time, what needs a person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from domain.jobs.failures import Forbidden
from domain.jobs.queues import OLDEST_DUE_S, Queue
from gateway.console.charts import sparkline
from gateway.console.frame import Frame, sees
from gateway.console.pages import HandPage, Look
from gateway.console.pages.ranges import by_queue, chosen, history_charts
from gateway.console.shown import lasting
from gateway.console.things import AnyOperation
from operations.approvals.approvals import list_approvals
from operations.approvals.effects import list_effects
from operations.areas import areas
from operations.jobs.dead_letters import list_dead_letters
from operations.jobs.failures import list_failure_groups
from operations.jobs.gates import list_gates
from operations.jobs.history import (
    QueueDepth,
    list_job_history,
    list_queue_depths,
    list_queue_history,
)
from operations.pages import Window

NEWEST = 5
STALE_AFTER = timedelta(minutes=3)
"""What waits is measured every few seconds; older numbers are no news."""
PACE_MINUTES = 10
"""Over how many of the last whole minutes what comes and goes is averaged."""
WAITING = ("due", "backlog", "published", "parked")
NEEDS: Sequence[tuple[str, str, AnyOperation]] = (
    ("deadletters", "Dead letters", list_dead_letters),
    ("effects", "Effects in doubt", list_effects),
    ("approvals", "Approvals", list_approvals),
    ("gates", "Closed gates", list_gates),
)
"""What needs a person: the area, its words, and the list."""


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A queue: what waits in it, how long, and how many jobs come and go in a minute."""

    depth: QueueDepth
    objective_s: int
    into: float
    out: float
    waited: Sequence[float | None]
    """How many waited in each minute of the last hour."""

    @property
    def waiting(self) -> int:
        """How many wait now."""
        return sum(getattr(self.depth, name) for name in WAITING)

    @property
    def is_late(self) -> bool:
        """Whether the oldest has waited for longer than the objective allows."""
        return self.depth.oldest_due_s > self.objective_s

    @property
    def spark(self) -> str:
        """How many waited, over the last hour."""
        return sparkline(f"Waiting in {self.depth.queue}", self.waited, "warn" if self.is_late else "busy")


def fill(look: Look) -> Mapping[str, Any]:
    """The overview of the fleet, or of the org that was chosen; of no org for whoever has to choose one first."""
    of_fleet = look.frame.org_id is None and look.may(list_queue_depths)
    queues = queue_lines(look) if of_fleet else []
    kept = chosen(look) if look.may(list_job_history) else None
    failures = None
    if of_fleet and kept is not None and look.may(list_failure_groups):
        failures = look.table(list_failure_groups, look.call(list_failure_groups, Window(NEWEST), since=kept.since))
    return {
        "status": list(status_of(queues, look.frame)) if of_fleet else [],
        "tone": "warn" if any(one.is_late for one in queues) or age_of(queues) > STALE_AFTER else "good",
        "queues": queues,
        "chosen": kept,
        "charts": history_charts(look, kept) if kept is not None else [],
        "failures": failures,
        "failures_href": look.href(list_failure_groups),
        "needs": list(_needs(look)),
        "areas": {area.name: area.purpose for area in areas()},
    }


def queue_lines(look: Look) -> Sequence[QueueLine]:
    """Every queue in which something was measured, in the order of their names' list."""
    now = datetime.now(UTC)
    found = look.call(list_queue_history, since=now - timedelta(hours=1)).items
    minutes = [now.replace(second=0, microsecond=0) - timedelta(minutes=one) for one in range(59, -1, -1)]
    waited = by_queue(found, minutes, *WAITING)
    depths = {one.queue: one for one in look.call(list_queue_depths).items}
    return [_line(look, depths[queue], now, waited.get(queue.value, ())) for queue in Queue if queue in depths]


def _line(look: Look, depth: QueueDepth, now: datetime, waited: Sequence[float | None]) -> QueueLine:
    since = now.replace(second=0, microsecond=0) - timedelta(minutes=PACE_MINUTES)
    points = look.call(
        list_job_history, since=since, before=since + timedelta(minutes=PACE_MINUTES), queue=[depth.queue]
    ).items
    ended = sum(one.succeeded + one.failed + one.canceled for one in points)
    into = sum(one.enqueued for one in points)
    return QueueLine(depth, OLDEST_DUE_S[depth.queue], into / PACE_MINUTES, ended / PACE_MINUTES, waited)


def age_of(queues: Sequence[QueueLine]) -> timedelta:
    """How old the newest numbers are; of none, no age."""
    now = datetime.now(UTC)
    return now - max((one.depth.at for one in queues), default=now)


def status_of(queues: Sequence[QueueLine], frame: Frame) -> Iterator[str]:
    """The fleet in sentences: first whether the queues are in time, then what needs a person."""
    if not queues:
        yield "Nothing was measured yet: no worker counts. Start one with celery -A tasks worker."
        return
    age = age_of(queues)
    if age > STALE_AFTER:
        yield f"The numbers are {lasting(age.total_seconds())} old: a worker with a port for its metrics counts them."
    late = [one for one in queues if one.is_late]
    for one in late:
        yield (
            f"{one.depth.queue.value.capitalize()} is late: its oldest due job waits for"
            f" {lasting(one.depth.oldest_due_s)}, {lasting(one.objective_s)} are allowed."
        )
    if not late:
        yield "All queues are in time."
    waiting = [f"{one.text} {one.words}" for one in frame.counters if one.number]
    yield f"For a person: {', '.join(waiting)}." if waiting else "Nothing waits for a person."


def _needs(look: Look) -> Iterator[Mapping[str, Any]]:
    """What needs a person, as far as the visitor sees it: the newest of each, none where an org has to be chosen first.

    The database may refuse it to an operator of some orgs.
    """
    for area, title, operation in NEEDS:
        if not sees(look.frame.visitor, operation):
            continue
        number = next((one.text for one in look.frame.counters if one.area == area), "")
        listing = None
        if look.may(operation):
            try:
                listing = look.table(operation, look.call(operation, Window(NEWEST)))
            except Forbidden:
                continue
        counted = number if look.frame.org_id is None else ""
        yield {"title": title, "href": look.href(operation), "number": counted, "listing": listing}


OVERVIEW = HandPage(path="", title="Overview", fill=fill, asks=("range",), key="o")

"""Queues and workers: what waits where and for how long, who runs jobs, and what closing a queue would keep back."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from domain.jobs.failures import Invalid
from domain.jobs.monitoring.history import Step
from domain.jobs.queues import OLDEST_DUE_S, Queue
from gateway.console.pages import HandPage, Look
from gateway.console.pages.overview import WAITING, queue_lines
from gateway.console.pages.ranges import chosen, waiting_charts
from operations.jobs.gates import close_gate, list_gates
from operations.jobs.history import list_job_history, list_queue_depths
from operations.jobs.workers import list_workers
from operations.pages import SHOWN_BY_DEFAULT, Window

CLOSE = "workers/close"
SOON_MINUTES = 10


def fill(look: Look) -> Mapping[str, Any]:
    """Queues and workers of the fleet; by queue the page that says what closing it would keep back, for whoever may."""
    look = _of_fleet(look)
    kept = chosen(look)
    lines = queue_lines(look)
    names = [one.depth.queue.value for one in lines] if look.may(close_gate) else []
    return {
        "queues": lines,
        "closing": {name: {"href": f"{look.frame.base}/{CLOSE}?queue={name}"} for name in names},
        "gates": look.table(list_gates, look.call(list_gates, Window(SHOWN_BY_DEFAULT))),
        "workers": look.table(list_workers, look.call(list_workers, look.window())),
        "chosen": kept,
        "charts": waiting_charts(look, kept),
    }


def fill_closing(look: Look) -> Mapping[str, Any]:
    """What closing one queue would keep back at the pace of the last day, or of the last hour where that is faster.

    Raises `Invalid` for a queue that there is not.
    """
    look = _of_fleet(look)
    name = look.asked.get("queue", "")
    if name not in list(Queue):
        raise Invalid("queue", f"is one of {', '.join(Queue)}")
    queue, now = Queue(name), datetime.now(UTC)
    depth = next((one for one in look.call(list_queue_depths).items if one.queue == queue), None)
    day = look.call(list_job_history, since=now - timedelta(days=1), step=Step.TEN_MINUTES, queue=[queue]).items
    day_pace, hour_pace = (sum(one.enqueued for one in part) / max(len(part) * 10, 1) for part in (day, day[-6:]))
    waiting = sum(getattr(depth, one) for one in WAITING) if depth else 0
    return {
        "queue": queue.value,
        "waiting": waiting,
        "held": depth.held if depth else 0,
        "day_pace": day_pace,
        "hour_pace": hour_pace,
        "soon": waiting + round(max(day_pace, hour_pace) * SOON_MINUTES),
        "objective_s": OLDEST_DUE_S[queue],
        "request_id": uuid4(),
        "events": close_gate.events,
    }


def _of_fleet(look: Look) -> Look:
    """Queues are the fleet's, whatever org was chosen."""
    return replace(look, frame=replace(look.frame, org_id=None))


WORKERS = HandPage(
    path="workers", title="Queues and workers", fill=fill, asks=("range",), needs=list_workers, key="q", order=1
)
CLOSING = HandPage(
    path=CLOSE, title="Close a queue?", fill=fill_closing, asks=("queue",), needs=close_gate,
    template="pages/closing.html",
)  # fmt: skip

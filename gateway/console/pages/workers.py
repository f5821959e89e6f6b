"""Queues and workers: what waits where and for how long, who runs jobs, and what closing a queue would keep back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from domain.jobs.failures import Invalid
from domain.jobs.monitoring.history import Step
from domain.jobs.queues import OLDEST_DUE_S, Queue
from gateway.console.charts import Chart
from gateway.console.derived import Listing
from gateway.console.pages import HandPage, Link, Look
from gateway.console.pages.overview import WAITING, QueueLine, queue_lines
from gateway.console.pages.ranges import Chosen, chosen, waiting_charts
from operations.jobs.gates import close_gate, list_gates
from operations.jobs.history import list_job_history, list_queue_depths
from operations.jobs.workers import list_workers
from operations.pages import SHOWN_BY_DEFAULT, Window

CLOSE = "workers/close"
SOON_MINUTES = 10


@dataclass(frozen=True, slots=True)
class Workers:
    """What the page shows."""

    queues: Sequence[QueueLine]
    closing: Mapping[str, Link]
    """By queue: the page that says what closing it would keep back; empty for whoever may not."""
    gates: Listing
    workers: Listing
    chosen: Chosen
    charts: Sequence[Chart]


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """What closing a queue would keep back, at the pace of the last day."""

    queue: str
    waiting: int
    held: int
    """These run on."""
    day_pace: float
    """How many jobs came in a minute, over the last day."""
    hour_pace: float
    objective_s: int
    request_id: UUID
    events: Sequence[str]

    @property
    def soon(self) -> int:
        """How many wait after ten minutes, by the faster of the two paces."""
        return self.waiting + round(max(self.day_pace, self.hour_pace) * SOON_MINUTES)


def fill(look: Look) -> Workers:
    """Queues and workers of the fleet."""
    look = _of_fleet(look)
    kept = chosen(look)
    cursor = look.request.query_params.get("cursor")
    lines = queue_lines(look)
    names = [one.depth.queue.value for one in lines]
    closing = {name: Link("Close", f"{look.frame.base}/{CLOSE}?queue={name}") for name in names}
    return Workers(
        lines,
        closing if look.may(close_gate) else {},
        look.table(list_gates, look.call(list_gates, Window(SHOWN_BY_DEFAULT))),
        look.table(list_workers, look.call(list_workers, Window(SHOWN_BY_DEFAULT, cursor or None))),
        kept,
        waiting_charts(look, kept),
    )


def fill_closing(look: Look) -> BlastRadius:
    """What closing one queue would keep back; raises `Invalid` for a queue that there is not."""
    look = _of_fleet(look)
    name = look.asked.get("queue", "")
    if name not in list(Queue):
        raise Invalid("queue", f"is one of {', '.join(Queue)}")
    queue, now = Queue(name), datetime.now(UTC)
    depth = next((one for one in look.call(list_queue_depths).items if one.queue == queue), None)
    day = look.call(list_job_history, since=now - timedelta(days=1), step=Step.TEN_MINUTES, queue=[queue]).items
    hour = day[-6:]
    return BlastRadius(
        queue.value,
        sum(getattr(depth, one) for one in WAITING) if depth else 0,
        depth.held if depth else 0,
        sum(one.enqueued for one in day) / max(len(day) * 10, 1),
        sum(one.enqueued for one in hour) / max(len(hour) * 10, 1),
        OLDEST_DUE_S[queue],
        uuid4(),
        close_gate.events,
    )


def _of_fleet(look: Look) -> Look:
    """Queues are the fleet's, whatever org was chosen."""
    return replace(look, frame=replace(look.frame, org_id=None))


WORKERS = HandPage(
    path="workers", title="Queues and workers", shown=Workers, fill=fill, asks=("range",), needs=list_workers,
    key="q", order=1,
)  # fmt: skip
CLOSING = HandPage(
    path=CLOSE, title="Close a queue?", shown=BlastRadius, fill=fill_closing, asks=("queue",), needs=close_gate,
    template="pages/closing.html",
)  # fmt: skip

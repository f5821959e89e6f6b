"""A job's attempts as spans of time, from its events, steps and effects; and the picture of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from markupsafe import Markup

from gateway.console.shown import lasting, money

WIDTH, LEFT, RIGHT, ROW, TOP = 900, 190, 84, 22, 20
"""Of the picture, in units of its own: names are on the left, lengths on the right, times above."""
MOST_ROWS = 60
NARROWEST = 3
"""Of a bar: what took no time is seen, too."""
LONGEST_NAME = 26
ENDS: Mapping[str, tuple[str, str]] = {
    "job.succeeded": ("succeeded", "good"),
    "job.failed": ("failed", "bad"),
    "job.deadlettered": ("dead", "bad"),
    "job.canceled": ("canceled", "soft"),
    "job.retried": ("came back", "warn"),
}
"""Events that end an attempt: the word for its end, and the colour."""


@dataclass(frozen=True, slots=True)
class Span:
    """What lay between two times; without `until` it goes on."""

    name: str
    tone: str
    since: datetime
    until: datetime | None
    microcents: int = 0

    def lasted(self, now: datetime) -> str:
        """How long it took, in words."""
        return lasting(((self.until or now) - self.since).total_seconds())


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim of a job: since when it waited, was claimed, ran, and how that ended."""

    name: str
    waited_since: datetime
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    end: str = "waits"
    tone: str = "busy"
    reason: str = ""
    worker: str = ""
    number: int = 0
    parts: Sequence[Span] = field(default=())

    @property
    def cost(self) -> str:
        """What its steps have cost."""
        return money(microcents) if (microcents := sum(one.microcents for one in self.parts)) else ""

    def spans(self, now: datetime) -> Sequence[Span]:
        """What the row of the attempt shows."""
        known = [
            ("waited", "soft", self.waited_since, self.claimed_at or now),
            ("claimed", "claim", self.claimed_at, self.started_at),
            ("ran", self.tone, self.started_at, self.ended_at or now),
        ]
        return [Span(name, tone, since, until) for name, tone, since, until in known if since and until]

    def lasted(self, name: str, now: datetime) -> str:
        """How long a part of it took, in words; empty where it had none."""
        return next((one.lasted(now) for one in self.spans(now) if one.name == name), "")


def attempts_of(
    events: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    effects: Sequence[Mapping[str, Any]],
    *,
    is_waiting: bool,
) -> list[Attempt]:
    """A job's attempts in order; of one that waits, the wait is the last."""
    attempts: list[Attempt] = []
    since = _time(events[0]["at"]) if events else None
    for one in events:
        at, data = _time(one["at"]), one.get("data") or {}
        open_one = attempts[-1] if attempts and attempts[-1].ended_at is None else None
        if one["event"] == "job.started":
            claimed = _time(data["claimed_at"]) if data.get("claimed_at") else at
            number = int(one["attempt"] or 0)
            attempts.append(
                Attempt(
                    f"attempt {number}", min(since or claimed, claimed), claimed, at, end="runs", number=number,
                    worker=str(data.get("worker", "")),
                )
            )  # fmt: skip
        elif one["event"] in ENDS:
            if open_one is not None:
                end, tone = ENDS[one["event"]]
                said = data.get("error") if isinstance(data.get("error"), Mapping) else {}
                tone = "bad" if said else tone
                reason = str((said or {}).get("reason") or data.get("reason") or data.get("cause") or "")
                attempts[-1] = replace(open_one, ended_at=at, end=end, tone=tone, reason=reason)
            elif one["event"] == "job.deadlettered" and attempts:
                attempts[-1] = replace(attempts[-1], end="dead")
            since = at
    if is_waiting and since is not None:
        attempts.append(Attempt("waits", since))
    return _with_parts(attempts, steps, effects)


def _with_parts(
    attempts: Sequence[Attempt], steps: Sequence[Mapping[str, Any]], effects: Sequence[Mapping[str, Any]]
) -> list[Attempt]:
    """Steps by the number of the attempt, effects by their time: each belongs to the last attempt that fits.

    An effect's time is that at which its transaction began. The worker writes the attempt's start beside the handler,
    and may be later; the claim is before both.
    """
    parts: list[list[Span]] = [[] for _ in attempts]
    for one in steps:
        fitting = [at for at, attempt in enumerate(attempts) if attempt.number == one["attempt"] and attempt.started_at]
        if fitting:
            began = _time(one["started_at"] or one["at"])
            parts[fitting[-1]].append(
                Span(f"step {one['name']}", "good", began, _time(one["at"]), int(one["cost_microcents"] or 0))
            )
    for one in effects:
        began = _time(one["first_seen_at"])
        fitting = [at for at, attempt in enumerate(attempts) if attempt.claimed_at and attempt.claimed_at <= began]
        if fitting:
            tone = {"succeeded": "good", "failed": "bad", "unknown": "warn"}.get(str(one["status"]), "busy")
            parts[fitting[-1]].append(Span(f"effect {one['key']}", tone, began, _time(one["last_seen_at"])))
    return [
        replace(attempt, parts=sorted(part, key=lambda span: span.since))
        for attempt, part in zip(attempts, parts, strict=True)
    ]


def drawn(attempts: Sequence[Attempt], now: datetime) -> Markup:
    """The picture: a row per attempt, and one below it per step and effect."""
    rows: list[tuple[str, str, Sequence[Span]]] = []
    for attempt in attempts:
        spans = attempt.spans(now)
        rows.append((attempt.name, spans[-1].lasted(now), spans))
        rows += [(f"· {one.name}", one.lasted(now), [one]) for one in attempt.parts]
    rows = rows[-MOST_ROWS:]
    times = [one for _, _, spans in rows for span in spans for one in (span.since, span.until or now)]
    first, last = min(times), max(times)
    lines = [_row(at, row, first, last, now) for at, row in enumerate(rows)]
    said = "; ".join(f"{one.name} {one.end}, {one.lasted('ran', now) or one.lasted('waited', now)}" for one in attempts)
    return Markup(
        '<svg class="waterfall" role="img" viewBox="0 0 {} {}" aria-label="Attempts over time: {}">'
        '<text class="below" x="{}" y="12">{:%Y-%m-%d %H:%M:%S} UTC</text><text class="below end"'
        ' x="{}" y="12">+{}</text>'
        "{}</svg>"
    ).format(
        WIDTH, TOP + ROW * len(rows) + 4, said[:2000], LEFT, first, WIDTH - RIGHT,
        lasting((last - first).total_seconds()),
        Markup().join(lines),
    )  # fmt: skip


def _row(at: int, row: tuple[str, str, Sequence[Span]], first: datetime, last: datetime, now: datetime) -> Markup:
    name, length, spans = row
    y, scale = TOP + at * ROW, (WIDTH - LEFT - RIGHT) / max((last - first).total_seconds(), 0.001)
    cut = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    parts = [Markup('<text x="0" y="{}">{}<title>{}</title></text>').format(y + 14, cut, name)]
    for one in spans:
        left = LEFT + (one.since - first).total_seconds() * scale
        wide = max(((one.until or now) - one.since).total_seconds() * scale, NARROWEST)
        parts.append(
            Markup(
                '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}" rx="3"><title>{}: {}</title></rect>'
            ).format(one.tone, min(left, WIDTH - RIGHT - NARROWEST), y + 4, wide, ROW - 9, one.name,
                     one.lasted(now))
        )  # fmt: skip
    parts.append(Markup('<text class="end" x="{}" y="{}">{}</text>').format(WIDTH, y + 14, length))
    return Markup().join(parts)


def _time(said: str | datetime) -> datetime:
    return said if isinstance(said, datetime) else datetime.fromisoformat(said)

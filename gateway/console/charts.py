"""Charts as SVG, drawn by the server: lines and stacked bars over time, with axes, a title, and words for all.

Colours are classes of the style sheet, for the policy of pages allows no style in a document.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import floor, log10
from typing import Literal

from markupsafe import Markup

WIDTH, HEIGHT = 640, 200
LEFT, RIGHT, TOP, BOTTOM = 50, 8, 10, 24
"""Around the drawing: for the numbers on the left, and the times below."""
SPARK_WIDTH, SPARK_HEIGHT = 120, 28
TIMES = 4
"""Spaces between the times below a chart."""
LEAST_DRAWN = 1e-9
MOST_NAMED = 6
"""Series that have a colour of their own, by their position."""

KEY = Markup(
    '<li><svg class="key {}" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">'
    '<rect width="10" height="10" rx="2"/></svg>{}</li>'
)
SPARK = Markup(
    '<svg class="spark" role="img" viewBox="0 0 {} {}" width="{}" height="{}" aria-label="{}">'
    '<path class="stroke {}" d="{}"/></svg>'
)

Kind = Literal["line", "bars"]


@dataclass(frozen=True, slots=True)
class Series:
    """What is drawn in one colour: a value per time, None where there is none.

    `tone` is `good`, `bad`, `warn`, `busy` or `soft`; without one the position in the chart decides.
    """

    name: str
    values: Sequence[float | None]
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Series over the same times, each of which begins a step; `unit` follows each number."""

    title: str
    kind: Kind
    times: Sequence[datetime]
    step: timedelta
    series: Sequence[Series]
    since: datetime
    before: datetime
    unit: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(value for one in self.series for value in one.values)

    @property
    def most(self) -> float:
        """The upper end of the axis: a round number that no value exceeds."""
        columns = zip(*(one.values for one in self.series), strict=True)
        heights = [
            sum(filter(None, one)) if self.kind == "bars" else max(filter(None, one), default=0) for one in columns
        ]
        return round_up(max(heights, default=0))

    @property
    def words(self) -> str:
        """What the chart shows, for whoever does not see it."""
        said = []
        for one in self.series:
            known = [value for value in one.values if value is not None]
            if known:
                least, most, last = (f"{number(value)}{self.unit}" for value in (min(known), max(known), known[-1]))
                said.append(f"{one.name}: {least} to {most}, last {last}")
        return f"From {self.since:%Y-%m-%d %H:%M} to {self.before:%Y-%m-%d %H:%M} UTC. " + "; ".join(
            said or ["nothing"]
        )

    def __html__(self) -> str:
        """The chart with its title and its legend."""
        names = Markup().join(KEY.format(tone, one.name) for one, tone in self._toned())
        return Markup(
            '<figure class="chart {kind}"><figcaption><b>{title}</b><ul>{names}</ul></figcaption>'
            '<svg role="img" viewBox="0 0 {width} {height}" aria-label="{title}. {words}">{axes}{drawn}</svg></figure>'
        ).format(
            kind=self.kind, title=self.title, names=names, width=WIDTH, height=HEIGHT, words=self.words,
            axes=self._axes(), drawn=self._drawn(),
        )  # fmt: skip

    def _toned(self) -> list[tuple[Series, str]]:
        return [(one, one.tone or f"n{at % MOST_NAMED}") for at, one in enumerate(self.series)]

    def _x(self, at: datetime) -> float:
        share = (at - self.since) / max(self.before - self.since, timedelta(microseconds=1))
        return round(LEFT + min(max(share, 0), 1) * (WIDTH - LEFT - RIGHT), 1)

    def _y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - value / self.most * (HEIGHT - TOP - BOTTOM), 1)

    def _axes(self) -> Markup:
        span = self.before - self.since
        form = "%H:%M" if span <= timedelta(days=1) else "%d %b %H:%M" if span <= timedelta(days=4) else "%d %b"
        lines = [
            Markup('<path class="axis" d="M{} {}H{}"/><text class="side" x="{}" y="{}">{}{}</text>').format(
                LEFT, self._y(value), WIDTH - RIGHT, LEFT - 6, self._y(value) + 4, number(value), self.unit
            )
            for value in (0, self.most / 2, self.most)
        ]
        for at in range(TIMES + 1):
            time = self.since + span * at / TIMES
            side = "start" if at == 0 else "end" if at == TIMES else "middle"
            lines.append(
                Markup('<text class="below {}" x="{}" y="{}">{}</text>').format(
                    side, self._x(time), HEIGHT - 6, time.strftime(form)
                )
            )
        return Markup().join(lines)

    def _drawn(self) -> Markup:
        if self.kind == "bars":
            return self._bars()
        return Markup().join(self._line(one, tone) for one, tone in self._toned())

    def _bars(self) -> Markup:
        bars, below = [], [0.0] * len(self.times)
        for one, tone in self._toned():
            path = []
            for at, (time, value) in enumerate(zip(self.times, one.values, strict=True)):
                if value:
                    left, right = self._x(time), self._x(time + self.step)
                    wide = max(right - left - (1 if right - left > 3 else 0), 1)  # noqa: PLR2004 - narrow bars touch
                    low, high = self._y(below[at]), self._y(below[at] + value)
                    path.append(f"M{left} {low}V{high}h{wide:.1f}V{low}z")
                    below[at] += value
            bars.append(Markup('<path class="{}" d="{}"/>').format(tone, "".join(path)))
        return Markup().join(bars)

    def _line(self, one: Series, tone: str) -> Markup:
        middle = self.step / 2
        runs: list[list[tuple[float, float]]] = []
        last: datetime | None = None
        for time, value in zip(self.times, one.values, strict=True):
            if value is None:
                continue
            if last is None or time - last > self.step * 1.5:  # nothing was measured between
                runs.append([])
            runs[-1].append((self._x(time + middle), self._y(value)))
            last = time
        line = "".join("M" + "L".join(f"{x} {y}" for x, y in run) + ("h1" if len(run) == 1 else "") for run in runs)
        return Markup('<path class="stroke {}" d="{}"/>').format(tone, line)


def sparkline(title: str, values: Sequence[float | None], tone: str = "busy") -> Markup:
    """A small line without axes, of values at equal distances; a value that is None has nothing drawn at it."""
    known = [value or 0 for value in values]
    most = max([*known, 1])
    wide = SPARK_WIDTH / max(len(known) - 1, 1)
    points = [
        f"{at * wide:.1f} {SPARK_HEIGHT - 2 - value / most * (SPARK_HEIGHT - 4):.1f}"
        for at, value in enumerate(known)
        if values[at] is not None
    ]
    line = f"M{'L'.join(points)}" if points else ""
    said = f"{title}: at most {number(max(known, default=0))}"
    return SPARK.format(SPARK_WIDTH, SPARK_HEIGHT, SPARK_WIDTH, SPARK_HEIGHT, said, tone, line)


def round_up(value: float) -> float:
    """The next number of the form 1, 2 or 5 times a power of ten; 1 for a chart without values that could be seen."""
    if value < LEAST_DRAWN:
        return 1
    power = 10.0 ** floor(log10(value))
    return next(one * power for one in (1, 2, 5, 10) if value <= one * power)


def number(value: float) -> str:
    """A number as an axis says it: at most three digits, with k for thousands and M for millions."""
    for bound, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= bound:
            return f"{value / bound:.3g}{letter}"
    return f"{value:.3g}"

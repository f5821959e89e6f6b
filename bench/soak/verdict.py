"""Whether a soak stayed flat: windows of its samples, compared. Arithmetic only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

LONGEST_WINDOW_S = 300.0
MOST_GROWTH = 1.10
"""The mean of the last window, as a multiple of that of the second."""
SMALL = {".table": 2**20, ".indexes": 2**20}
"""By the end of a measure's name: growth below so many bytes is none, for an almost empty table grows page by page."""
LATEST_MS = 1000.0
"""How late a job of another queue may begin."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at one time."""

    at_s: float
    """Seconds since the load began."""
    measures: Mapping[str, float]
    """Rows, and bytes of tables and indexes, by their names."""
    latencies_ms: tuple[float, ...] = ()
    """Of the probes in the loaded queue that began since the sample before."""
    other_ms: tuple[float, ...] = ()
    """The same in another queue."""
    counters: Mapping[str, float] = field(default_factory=dict)
    """What the database counted since it started. Not compared: it explains what is."""


def window_s(seconds: float) -> float:
    """How long a window is: a long soak has windows of five minutes, a short one four of any length."""
    return min(LONGEST_WINDOW_S, seconds / 4)


def compare(samples: Sequence[Sample], seconds: float) -> dict[str, dict[str, float]]:
    """By measure: the means of the second and of the last window, and the second one's multiple that the last is.

    The second, because the first fills an empty ledger.
    """
    length = window_s(seconds)
    second = [sample for sample in samples if length <= sample.at_s < 2 * length]
    last = [sample for sample in samples if sample.at_s >= seconds - length]
    means = {
        name: (fmean(sample.measures[name] for sample in second), fmean(sample.measures[name] for sample in last))
        for name in samples[0].measures
        if second and last
    }
    tails = [[ms for sample in window for ms in sample.latencies_ms] for window in (second, last)]
    if all(tails):
        means["p99_ms"] = (p99(tails[0]), p99(tails[1]))
    return {
        name: {"second": round(first, 2), "last": round(then, 2), "ratio": round(then / first, 3) if first else 1.0}
        for name, (first, then) in means.items()
    }


def failures(compared: Mapping[str, Mapping[str, float]], samples: Sequence[Sample], growing: set[str]) -> list[str]:
    """What broke a limit, in words; measures in `growing` may grow."""
    found = [
        f"{name} grew from {pair['second']:g} to {pair['last']:g}: {pair['ratio']:g} times"
        for name, pair in compared.items()
        if name not in growing and pair["ratio"] > MOST_GROWTH and pair["last"] - pair["second"] >= _small(name)
    ]
    late = max((ms for sample in samples for ms in sample.other_ms), default=0.0)
    if late >= LATEST_MS:
        found.append(f"a job of another queue began {late:.0f} ms late")
    return found


def _small(name: str) -> float:
    return next((small for end, small in SMALL.items() if name.endswith(end)), 0.0)


def p99(values: Sequence[float]) -> float:
    """The 99th percentile: the smallest value that 99 of 100 do not exceed."""
    ordered = sorted(values)
    return ordered[-(-99 * len(ordered) // 100) - 1]

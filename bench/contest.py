"""One contest: the same work done by ours and by a peer, in turns on the same machine, reported as a ratio."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from subprocess import SubprocessError
from typing import Literal

import psycopg
from redis.exceptions import RedisError

from domain.jobs.failures import Failure

DIGITS = 4
OF_OTHERS = (psycopg.Error, RedisError, SubprocessError, Failure)
FAILURES = (TimeoutError, RuntimeError, OSError, ValueError, LookupError, *OF_OTHERS)
"""What a failing run raises. The report names it, and the other contenders go on."""


@dataclass(frozen=True)
class Target:
    """A bound for the ratio, for our own figure, or for a ratio of costs among the facts."""

    of: Literal["ratio", "ours", "cpu_ratio"]
    bound: Literal["at least", "at most"]
    value: float

    def met(self, result: Mapping[str, object]) -> bool:
        """Whether a result meets the target; a result without the figure does not."""
        figure = result.get(self.of)
        if not isinstance(figure, int | float):
            return False
        return figure >= self.value if self.bound == "at least" else figure <= self.value


@dataclass(frozen=True)
class Contest:
    """The figures of each round. `better` says which direction wins; the ratio says how many times better ours is."""

    name: str
    ours: tuple[float, ...]
    peer: tuple[float, ...] = ()
    """Empty where there is no peer; then only a target for our own figure can be met."""
    unit: str = "jobs/s"
    better: Literal["higher", "lower"] = "higher"
    targets: tuple[Target, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    """Settings, sizes and remarks that a reader of the result needs."""

    def result(self) -> dict[str, object]:
        """Medians, their ratio, and the least and the greatest ratio of any round."""
        ours, peer = statistics.median(self.ours), statistics.median(self.peer) if self.peer else None
        ratios = [self._ratio(mine, theirs) for mine, theirs in zip(self.ours, self.peer, strict=False)]
        summary: dict[str, object] = {
            "ours": rounded(ours),
            "peer": None if peer is None else rounded(peer),
            "ratio": None if peer is None else rounded(self._ratio(ours, peer)),
            "min": rounded(min(ratios)) if ratios else None,
            "max": rounded(max(ratios)) if ratios else None,
            "unit": self.unit,
            "better": self.better,
            "rounds": {"ours": list(map(rounded, self.ours)), "peer": list(map(rounded, self.peer))},
        }
        result = summary | dict(self.facts)
        return result | {"targets": [vars(target) | {"met": target.met(result)} for target in self.targets]}

    def _ratio(self, ours: float, peer: float) -> float:
        return ours / peer if self.better == "higher" else peer / ours


@dataclass(frozen=True)
class Rounds:
    """The figure of each runner in each round, and why runners dropped out."""

    figures: Mapping[str, tuple[float, ...]]
    dropped: Mapping[str, str]


def take_turns(
    runners: Mapping[str, Callable[[], float]], rounds: int, print_line: Callable[[str], object] = lambda _: None
) -> Rounds:
    """Run every runner once per round, so that other load on the machine affects all of them alike.

    Each round begins with the next runner, so that no runner always follows the same one. A runner that fails drops
    out; its earlier figures and the reason are kept.
    """
    figures: dict[str, list[float]] = {name: [] for name in runners}
    dropped: dict[str, str] = {}
    for turn in range(rounds):
        for name in rotated(list(runners), turn):
            if name in dropped:
                continue
            try:
                figure = runners[name]()
            except FAILURES as error:
                dropped[name] = describe_failure(error)
                print_line(f"{name}: dropped: {dropped[name]}")
            else:
                figures[name].append(figure)
                print_line(f"{name}: {figure:,.1f}")
    return Rounds({name: tuple(reached) for name, reached in figures.items() if reached}, dropped)


def rotated(names: Sequence[str], turn: int) -> list[str]:
    """The names, each turn beginning with the next one."""
    start = turn % len(names) if names else 0
    return [*names[start:], *names[:start]]


def best(figures: Mapping[str, tuple[float, ...]], names: Sequence[str]) -> str | None:
    """The name with the highest median; None when none of them ran."""
    ran = [name for name in names if figures.get(name)]
    return max(ran, key=lambda name: statistics.median(figures[name]), default=None)


def rounded(figure: float) -> float:
    """The figure with four significant digits."""
    return float(f"{figure:.{DIGITS}g}")


def describe_failure(error: Exception) -> str:
    """A failure in one line: its class and the last line of its message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else 'no reason given'}"[:300]

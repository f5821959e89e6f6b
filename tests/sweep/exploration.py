"""Sweeps a job type: records its boundaries, lets each go wrong in every way, and checks every recovery."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from domain.notifications.sender import NO_PROVIDER
from engine.catalogue import Job
from tests.servers.servers import SessionServers
from tests.sweep.boundaries import Boundary, Fault, Kind, Point, points_of
from tests.sweep.fixture import Fixture, Trial, prepared
from tests.sweep.outside import READS, Outside
from tests.sweep.scenarios import Scenario, scenarios_of
from tests.sweep.snapshot import StillConnected
from tests.sweep.subject import kill_at
from tests.sweep.violations import Ending, ending_of, violations

T = TypeVar("T")
Choose = Callable[[Sequence[Point]], Sequence[Point]]
"""Which points of a recorded run are tried."""

MOST_POINTS, MOST_DANGEROUS = 7, 5
"""How many points of a scenario the bounded sweep takes, and how many of them around effects and settlements."""

RECORDS = frozenset({"finish_effect", "save_step", "book_call", "settle_jobs"})
SETTLES = re.compile(r"claim_jobs|settle_jobs|.*settle_held")
NOT_ENOUGH = "write a scenario for it in tests/sweep/scenarios.py"


class Unworkable(AssertionError):
    """A job type cannot be swept as it stands."""


@dataclass(frozen=True)
class Environment:
    """Where a sweep runs: servers, a broker of its own, and the providers."""

    servers: SessionServers
    broker_url: str
    outside: Outside


@dataclass
class Swept:
    """What the sweep of one scenario found."""

    scenario: str
    job_type: str
    boundaries: int = 0
    points: int = 0
    real_deaths: int = 0
    undecided: int = 0
    """Recoveries that rightly ended with an effect that nobody can know about."""
    stations: Counter[str] = field(default_factory=Counter)
    """The points whose job went through each part of the worker, in the disturbed attempt or in the recovery."""
    faults: Counter[str] = field(default_factory=Counter)
    """The points by what went wrong there."""
    crossed_in: Counter[str] = field(default_factory=Counter)
    """The points that lie at boundaries of each part of the worker."""
    skipped: list[str] = field(default_factory=list)
    """Points that were not tried, because a connection of the run before did not end, twice."""
    providers: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)


def sweep(environment: Environment, job_type: Job[Any], choose: Choose) -> list[Swept]:
    """Sweep all scenarios of a job type; raises `Unworkable` when they do not show what it does."""
    found = [sweep_scenario(environment, scenario, choose) for scenario in scenarios_of(job_type)]
    # Under the name of no provider, the mail of an org waits that has none.
    missing = set(job_type.providers) - {NO_PROVIDER} - set(chain.from_iterable(one.providers for one in found))
    if missing:
        raise Unworkable(f"no scenario of {job_type.name} calls {', '.join(sorted(missing))}: {NOT_ENOUGH}")
    return found


@dataclass(frozen=True)
class Recorded:
    """An undisturbed run: its boundaries in order, and how it ended."""

    crossed: Sequence[Boundary]
    ending: Ending


@dataclass
class Sweep:
    """The sweep of one scenario."""

    fixture: Fixture
    recorded: Recorded
    found: Swept

    def fail_at(self, point: Point) -> None:
        """Run the job, let it go wrong at the point, and check the recovery."""
        with self.fixture.trial() as trial:
            watch = trial.run(point)
            if watch.hit != point.boundary:
                self.found.violations.append(f"{self.found.scenario}: {point}: the run came by {watch.hit} instead")
            self._check(trial, point)

    def kill_at(self, point: Point) -> None:
        """Run the job in a process of its own, kill that at the point, and check the recovery."""
        with self.fixture.trial() as trial:
            kill_at(trial, point)
            self.found.real_deaths += 1
            self._check(trial, point)

    def _check(self, trial: Trial, point: Point) -> None:
        trial.recover()
        found, ending = self.found, ending_of(trial)
        found.points += 1
        found.undecided += bool(ending.unknown)
        found.stations.update(station.value for station in trial.stations)
        found.crossed_in[point.boundary.station.value] += 1
        found.faults[point.fault.value] += 1
        wrong = violations(trial, ending, self.recorded.ending, point, self.recorded.crossed)
        found.violations += [f"{found.scenario}: {point} ({trial.end}): {one}" for one in wrong]


def sweep_scenario(environment: Environment, scenario: Scenario, choose: Choose) -> Swept:
    """Sweep one way to run a job type; raises `Unworkable`."""
    with prepared(environment.servers, environment.outside, environment.broker_url, scenario) as fixture:
        found = Swept(str(scenario), scenario.job_type)
        recorded = _record(fixture, scenario, found)
        points = [point for point in points_of(recorded.crossed) if possible(point)]
        found.boundaries = len(recorded.crossed)
        found.providers = {one.label.split()[0] for one in recorded.crossed if one.kind is Kind.CALL}
        sweep = Sweep(fixture, recorded, found)
        trials = [(sweep.fail_at, point) for point in choose(points)]
        trials += [(sweep.kill_at, point) for point in real_deaths(points)]
        postponed = run_trials(trials)
        if postponed:
            sys.stderr.write(f"{scenario}: {len(postponed)} points are tried again: a connection did not end\n")
        found.skipped = [str(point) for _, point in run_trials(postponed)]
    return found


TrialAt = tuple[Callable[[Point], None], Point]


def run_trials(trials: Iterable[TrialAt]) -> list[TrialAt]:
    """Run trials; returns those that could not begin, because the database was still in use."""
    postponed = []
    for run, point in trials:
        try:
            run(point)
        except StillConnected:
            postponed.append((run, point))
    return postponed


def _record(fixture: Fixture, scenario: Scenario, found: Swept) -> Recorded:
    """Run the job undisturbed, its children too; that is what every recovery is compared with."""
    with fixture.trial() as trial:
        watch = trial.run()
        end = trial.end
        trial.recover()
        state, unfinished = trial.state(), trial.open_jobs()
        if (end, state) != (scenario.attempt_ends, "succeeded") or unfinished:
            problem = f"its attempt ends {end}, the job {state}, and {unfinished} jobs stay unfinished"
            raise Unworkable(f"{found.scenario} does not show its type at work ({problem}): {NOT_ENOUGH}")
        ending = ending_of(trial)
        wrong = violations(trial, ending, ending, None, watch.crossed)
        found.violations += [f"{found.scenario}: undisturbed: {one}" for one in wrong]
        return Recorded(watch.crossed, ending)


def whole(points: Sequence[Point]) -> list[Point]:
    """All of them."""
    return list(points)


def bounded(points: Sequence[Point]) -> list[Point]:
    """A sample that is the same each time: the dangerous points first, and some of all the others."""
    risky = spread([point for point in points if dangerous(point)], MOST_DANGEROUS)
    others = [point for point in points if not dangerous(point)]
    return [*risky, *spread(others, MOST_POINTS - len(risky))]


def dangerous(point: Point) -> bool:
    """Whether a provider's data or the job's end has just changed, or is about to be recorded."""
    boundary, fault = point.boundary, point.fault
    match boundary.kind:
        case Kind.CALL:
            return changes(boundary) and fault in {Fault.DEATH_AFTER, Fault.LOST}
        case Kind.COMMIT:
            return fault is Fault.LOST
        case Kind.STATEMENT if boundary.label in RECORDS and fault in {Fault.DEATH, Fault.FROZEN, Fault.OVERDUE}:
            return True
        case Kind.STATEMENT:
            return SETTLES.match(boundary.label) is not None and fault is Fault.LOST
    return False


def possible(point: Point) -> bool:
    """Whether it can happen: the call of an effect begins only when its longest duration is left of the deadline."""
    boundary = point.boundary
    return point.fault is not Fault.LATE or not changes(boundary) or boundary.label.startswith("anthropic")


def real_deaths(points: Sequence[Point]) -> list[Point]:
    """For a job with effects, where a process is killed in earnest: at a statement, at a commit, and at a call."""
    calls = [one for one in points if one.outside and changes(one.boundary) and one.fault is Fault.DEATH_AFTER]
    if not calls:
        return []
    records = [one for one in points if one.boundary.label in RECORDS and one.fault is Fault.DEATH]
    commits = [one for one in points if one.boundary.kind is Kind.COMMIT and one.fault is Fault.DEATH_AFTER]
    return [*spread(records, 1), *spread(commits, 1), *spread(calls, 1)]


def changes(boundary: Boundary) -> bool:
    """Whether a call changes anything outside."""
    return boundary.label.split()[1] not in READS


def spread(items: Sequence[T], most: int) -> list[T]:
    """Up to so many of them, evenly apart, the last one always."""
    if len(items) <= most:
        return list(items)
    return [items[(at + 1) * len(items) // most - 1] for at in range(most)]


DEPTHS: dict[str, Choose] = {"whole": whole, "bounded": bounded}


def violations_of(swept: Sequence[Swept]) -> Iterator[str]:
    """Everything that was found wrong."""
    return chain.from_iterable(one.violations for one in swept)

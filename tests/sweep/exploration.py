"""Sweeps a job type: records its boundaries, lets fate strike at each, and judges every recovery."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from engine.catalogue import Job
from tests.servers.servers import SessionServers
from tests.sweep.boundaries import Boundary, Fate, Kind, Point, points_of
from tests.sweep.drivers import Driver, perform
from tests.sweep.outside import READS, Outside
from tests.sweep.scenarios import Scenario, scenarios_of
from tests.sweep.stage import Scene, Stage, prepared
from tests.sweep.verdicts import Ending, ending_of, violations
from tests.sweep.victim import kill_at

T = TypeVar("T")
Choose = Callable[[Sequence[Point]], Sequence[Point]]
"""Which points of a recorded run are tried."""

MOST_DANGEROUS, MOST_OTHERS = 8, 4
"""How many points of a scenario the bounded sweep takes: of those around effects and settlements, and of the rest."""

RECORDS = frozenset({"finish_effect", "save_step", "settle_jobs"})
SETTLES = re.compile(r"claim_jobs|settle_jobs|.*settle_held")
NOT_ENOUGH = "write a scenario for it in tests/sweep/scenarios.py"


class Unworkable(AssertionError):
    """A job type cannot be swept as it stands."""


@dataclass(frozen=True)
class Place:
    """Where a sweep runs: servers, a broker of its own, and the world outside."""

    servers: SessionServers
    broker_url: str
    outside: Outside
    driver: Driver = perform


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
    providers: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)


def sweep(place: Place, job_type: Job[Any], choose: Choose) -> list[Swept]:
    """Sweep all scenarios of a job type; raises `Unworkable` when they do not show what it does."""
    found = [sweep_scenario(place, scenario, choose) for scenario in scenarios_of(job_type)]
    missing = set(job_type.providers) - set(chain.from_iterable(one.providers for one in found))
    if missing:
        raise Unworkable(f"no scenario of {job_type.name} calls {', '.join(sorted(missing))}: {NOT_ENOUGH}")
    return found


def sweep_scenario(place: Place, scenario: Scenario, choose: Choose) -> Swept:
    """Sweep one way to run a job type; raises `Unworkable`."""
    with prepared(place.servers, place.outside, place.broker_url, scenario, place.driver) as stage:
        found = Swept(str(scenario), scenario.job_type)
        crossed, wanted = _record(stage, found)
        points = points_of(crossed)
        found.boundaries = len(crossed)
        found.providers = {one.label.split()[0] for one in crossed if one.kind is Kind.CALL}
        for point in choose(points):
            _strike(stage, point, crossed, wanted, found)
        for point in real_deaths(points):
            _kill(stage, point, crossed, wanted, found)
    return found


def _record(stage: Stage, found: Swept) -> tuple[list[Boundary], Ending]:
    """Run the job undisturbed, its children too; that is what every recovery is compared with."""
    with stage.scene() as scene:
        watch = scene.play()
        end = scene.end
        scene.recover()
        if end != "succeeded" or scene.open_jobs():
            story = f"it ends {end}, and {scene.open_jobs()} jobs stay unfinished"
            raise Unworkable(f"{found.scenario} does not show its type at work ({story}): {NOT_ENOUGH}")
        ending = ending_of(scene)
        wrong = violations(scene, ending, ending, None, watch.crossed)
        found.violations += [f"{found.scenario}: undisturbed: {one}" for one in wrong]
        return watch.crossed, ending


def _strike(stage: Stage, point: Point, crossed: Sequence[Boundary], wanted: Ending, found: Swept) -> None:
    with stage.scene() as scene:
        watch = scene.play(point)
        found.points += 1
        if watch.struck != point.boundary:
            found.violations.append(f"{found.scenario}: {point}: the run came by {watch.struck} instead")
        _judge(scene, point, crossed, wanted, found)


def _kill(stage: Stage, point: Point, crossed: Sequence[Boundary], wanted: Ending, found: Swept) -> None:
    with stage.scene() as scene:
        kill_at(scene, point)
        found.points += 1
        found.real_deaths += 1
        _judge(scene, point, crossed, wanted, found)


def _judge(scene: Scene, point: Point, crossed: Sequence[Boundary], wanted: Ending, found: Swept) -> None:
    scene.recover()
    ending = ending_of(scene)
    found.undecided += bool(ending.unknown)
    wrong = violations(scene, ending, wanted, point, crossed)
    found.violations += [f"{found.scenario}: {point} ({scene.end}): {one}" for one in wrong]


def whole(points: Sequence[Point]) -> list[Point]:
    """All of them."""
    return list(points)


def bounded(points: Sequence[Point]) -> list[Point]:
    """A sample that is the same each time: the dangerous points first, and some of all the others."""
    risky = [point for point in points if dangerous(point)]
    others = [point for point in points if not dangerous(point)]
    return [*spread(risky, MOST_DANGEROUS), *spread(others, MOST_OTHERS)]


def dangerous(point: Point) -> bool:
    """Whether the world outside or the job's end has just changed, or is about to be recorded."""
    boundary, fate = point.boundary, point.fate
    match boundary.kind:
        case Kind.CALL:
            return changes(boundary) and fate in {Fate.DEATH_AFTER, Fate.LOST}
        case Kind.COMMIT:
            return fate is Fate.LOST
        case Kind.STATEMENT if boundary.label in RECORDS and fate in {Fate.DEATH, Fate.FROZEN}:
            return True
        case Kind.STATEMENT:
            return SETTLES.match(boundary.label) is not None and fate is Fate.LOST
    return False


def real_deaths(points: Sequence[Point]) -> list[Point]:
    """For a job with effects, where a process is killed in earnest: at a statement, at a commit, and at a deed."""
    deeds = [one for one in points if one.outside and changes(one.boundary) and one.fate is Fate.DEATH_AFTER]
    if not deeds:
        return []
    records = [one for one in points if one.boundary.label in RECORDS and one.fate is Fate.DEATH]
    commits = [one for one in points if one.boundary.kind is Kind.COMMIT and one.fate is Fate.DEATH_AFTER]
    return [*spread(records, 1), *spread(commits, 1), *spread(deeds, 1)]


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

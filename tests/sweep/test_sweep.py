"""The crash sweep in a bounded form: every job type, the dangerous points and some others; `make sweep` takes all."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from engine.catalogue import Job
from tests.doubles.inline_worker import Station
from tests.doubles.mail_environment import MailEnvironment
from tests.servers.servers import SessionServers
from tests.sweep import broken_jobs
from tests.sweep.boundaries import OUTRUNNING, Boundary, Fault, Kind, Point, points_of
from tests.sweep.exploration import (
    Choose,
    Environment,
    Swept,
    Unworkable,
    bounded,
    dangerous,
    possible,
    run_trials,
    spread,
    sweep,
    sweep_scenario,
)
from tests.sweep.fixture import job_type_of
from tests.sweep.outside import Outside, running_outside
from tests.sweep.prepared.housekeeping import unreadable
from tests.sweep.prepared.places import enqueue, stored_question
from tests.sweep.report import summary, write
from tests.sweep.scenarios import SCENARIOS, Scenario, swept_types
from tests.sweep.snapshot import StillConnected
from tests.sweep.violations import missed

FEWEST = 7
"""Points of a scenario: a job that reads nothing and writes once crosses eight boundaries, and seven of them matter."""


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with running_outside() as made:
        yield made


@pytest.fixture
def environment(servers: SessionServers, broker_url: str, outside: Outside) -> Environment:
    return Environment(servers, broker_url, outside)


@pytest.mark.parametrize("name", swept_types())
def test_a_crash_at_a_dangerous_point_breaks_no_promise(environment: Environment, name: str) -> None:
    swept = sweep(environment, job_type_of(name), bounded)
    found = summary(swept)
    write(f"bounded/{name}", swept)
    assert found["points"] >= FEWEST * len(swept)
    assert not found["violations"], "\n" + "\n".join(found["found"])


def test_every_named_scenario_is_of_a_job_type() -> None:
    assert set(SCENARIOS) <= set(swept_types())


@pytest.mark.parametrize(
    ("job_type", "words"),
    [
        (broken_jobs.unguarded, "P3: gmail drafts.create /gmail/v1/users/me/drafts was done 2 times instead of 1"),
        (broken_jobs.hasty, "P5: triage.classify was published before it was committed"),
        (broken_jobs.chattering, "another end: events has ['probe.noted'] instead of {}"),
        (
            broken_jobs.unfenced,
            '(claim_lost): another end: rules …rules {"account_id": null, "content": "be brief"',
        ),
        (broken_jobs.spendthrift, "P3: anthropic messages.create /v1/messages was done 2 times instead of 1"),
        (broken_jobs.garrulous, "job.started cannot follow running"),
        (broken_jobs.boastful, "made by the job: nothing lies there"),
    ],
    ids=lambda value: value.name if isinstance(value, Job) else "",
)
def test_a_job_that_breaks_a_promise_is_found_out(environment: Environment, job_type: Job[Any], words: str) -> None:
    found = sweep_broken(environment, job_type)
    assert summary([found])["violations"] > 0
    assert any(words in violation for violation in found.violations), "\n".join(found.violations)


def some(points: Sequence[Point]) -> list[Point]:
    """Enough to find a broken promise."""
    frozen = [one for one in points if one.fault is Fault.FROZEN]
    return [*spread([one for one in points if dangerous(one)], 3), *spread(frozen, 3)]


def late_ones(points: Sequence[Point]) -> list[Point]:
    """The points at which the process lives and its job's deadline passes."""
    return [one for one in points if one.fault in OUTRUNNING]


@pytest.mark.parametrize(
    ("job_type", "fault"), [(broken_jobs.unfenced, Fault.OVERDUE), (broken_jobs.unfenced_reader, Fault.LATE)]
)
def test_a_write_without_a_claim_after_the_deadline_is_found_out(
    environment: Environment, job_type: Job[Any], fault: Fault
) -> None:
    found = sweep_broken(environment, job_type, late_ones)
    assert found.faults[fault.value] > 0
    broken = [one for one in found.violations if fault.value in one and " rules " in one]
    assert broken, "\n".join(found.violations)


def test_only_a_call_outside_an_effect_may_be_answered_after_the_deadline() -> None:
    calls = ["gmail GET /messages", "gmail POST /drafts", "anthropic POST /v1/messages"]
    late = [Point(outside=True, ordinal=0, fault=Fault.LATE, boundary=Boundary(Kind.CALL, call)) for call in calls]
    assert [possible(point) for point in late] == [True, False, True]


def sweep_broken(environment: Environment, job_type: Job[Any], choose: Choose = some) -> Swept:
    def prepare(env: MailEnvironment) -> UUID:
        stored = stored_question(env)
        payload = {"message_id": stored.message_id, "thread_id": stored.thread_id}
        return enqueue(env, job_type.name, payload | {"account_id": str(env.account.account_id)})

    return sweep_scenario(environment, Scenario(job_type.name, "broken", prepare), choose)


def test_a_job_type_that_does_not_do_its_work_needs_a_scenario(environment: Environment) -> None:
    with pytest.raises(Unworkable, match=r"write a scenario for it in tests/sweep/scenarios\.py"):
        sweep_scenario(environment, Scenario("gmail.ingest", "broken", unreadable), bounded)


def test_a_job_that_takes_another_way_is_a_violation() -> None:
    assert missed(set(Station)) == []
    assert missed({Station.LOOP}) == ["the job did not go through pool, tracer"]


def test_a_point_whose_database_is_still_in_use_is_tried_again() -> None:
    boundary = Boundary(Kind.STATEMENT, "claim_jobs")
    points = [Point(outside=False, ordinal=number, fault=Fault.DEATH, boundary=boundary) for number in range(3)]
    tried: list[int] = []

    def run(point: Point) -> None:
        tried.append(point.ordinal)
        if tried.count(1) == 1 and point.ordinal == 1:
            raise StillConnected

    postponed = run_trials([(run, point) for point in points])
    assert postponed == [(run, points[1])]
    assert run_trials(postponed) == []
    assert tried == [0, 1, 2, 1]


def test_the_bounded_sweep_takes_what_is_around_an_effect() -> None:
    crossed = [Boundary(Kind.STATEMENT, f"read {number}", durable=False) for number in range(40)]
    crossed[20:20] = [
        Boundary(Kind.STATEMENT, "begin_effect"),
        Boundary(Kind.CALL, "gmail POST /drafts"),
        Boundary(Kind.STATEMENT, "finish_effect"),
    ]
    chosen = {(point.boundary.label, point.fault) for point in bounded(points_of(crossed))}
    assert {
        ("gmail POST /drafts", Fault.DEATH_AFTER),
        ("gmail POST /drafts", Fault.LOST),
        ("finish_effect", Fault.DEATH),
    } <= chosen
    assert len(chosen) < 15

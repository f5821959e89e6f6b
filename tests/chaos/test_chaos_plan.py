"""The seed decides the faults; there are enough of them; a run with too few, or with a problem, fails."""

from typing import Any

import pytest

from tests.chaos.chaos_report import FULL_RUN, find_failures
from tests.chaos.plan import KILLS, RESTARTS, WIPES, Fault, Plan

THREE_MINUTES = Plan(seed=1, seconds=180, jobs=21_000, lease_s=10)

GOOD: dict[str, Any] = {
    "jobs": 20_000,
    "kills": 20,
    "wipes": 2,
    "postgres_restarts": 1,
    "lost": 0,
    "duplicate_effects": 0,
    "missing_effects": 0,
    "audit_gaps": 0,
    "other_problems": 0,
    "longest_recovery_s": 24.9,
    "allowed_recovery_s": 25.0,
}


def test_one_seed_makes_one_plan() -> None:
    assert THREE_MINUTES.events() == THREE_MINUTES.events()
    assert THREE_MINUTES.events() != Plan(seed=2, seconds=180, jobs=21_000, lease_s=10).events()


@pytest.mark.parametrize("seed", range(20))
def test_a_whole_run_has_enough_of_everything_within_its_time(seed: int) -> None:
    plan = Plan(seed=seed, seconds=180, jobs=21_000, lease_s=10)
    counts = plan.counts()
    assert set(counts) == set(Fault)
    assert sum(counts[kind] for kind in KILLS) >= FULL_RUN.kills
    assert sum(counts[kind] for kind in WIPES) >= FULL_RUN.wipes
    assert sum(counts[kind] for kind in RESTARTS) >= FULL_RUN.restarts
    events = plan.events()
    assert events == sorted(events)
    assert 0 < events[0].at_s <= events[-1].at_s < 180
    frozen = [event.lasts_s for event in events if event.what in {Fault.FREEZE_WORKER, Fault.FREEZE_LEADER}]
    assert min(frozen) > plan.lease_s


def test_the_shortest_run_has_some_of_everything() -> None:
    assert set(Plan(seed=1, seconds=1, jobs=10, lease_s=1).counts()) == set(Fault)


def test_a_good_run_passes() -> None:
    assert find_failures(GOOD, FULL_RUN) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jobs", 19_999),
        ("kills", 19),
        ("wipes", 1),
        ("postgres_restarts", 0),
        ("lost", 1),
        ("duplicate_effects", 1),
        ("missing_effects", 1),
        ("audit_gaps", 1),
        ("other_problems", 1),
        ("longest_recovery_s", 25.0),
    ],
)
def test_a_run_that_fell_short_or_broke_a_promise_fails(name: str, value: float) -> None:
    failures = find_failures(GOOD | {name: value}, FULL_RUN)
    assert len(failures) == 1
    assert str(value) in failures[0]

"""When a worker says that something is wrong with it, and when it must end."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.monitoring.liveness import (
    BROKER_LATE_S,
    CLAIM_SHARE,
    TURN_LATE_S,
    TURN_LIMIT_S,
    WorkerCondition,
    may_claim,
    may_renew,
    most_overdue,
    symptoms,
)

WELL = WorkerCondition(0.0, slots=4, overdue_slots=0, lease_left_s=45.0, broker_age_s=0.5)

SECONDS = st.floats(0, 1000)
CONDITIONS = st.builds(
    WorkerCondition, SECONDS, st.integers(1, 64), st.integers(0, 64), st.floats(-100, 60), SECONDS, st.booleans()
)


def test_a_worker_that_does_its_work_has_no_complaint() -> None:
    assert symptoms(WELL) == []


@pytest.mark.parametrize(
    ("change", "name", "ends"),
    [
        ({"turn_age_s": TURN_LATE_S + 1}, "loop_stands_still", False),
        ({"turn_age_s": TURN_LIMIT_S + 1}, "loop_stands_still", True),
        ({"overdue_slots": 1}, "slots_overdue", False),
        ({"overdue_slots": 2}, "slots_overdue", True),
        ({"lease_left_s": 0.0}, "lease_over", False),
        ({"broker_age_s": BROKER_LATE_S + 1}, "broker_silent", False),
        ({"database_away": True}, "database_away", False),
    ],
)
def test_each_complaint_has_its_bound(change: dict[str, Any], name: str, ends: bool) -> None:
    (symptom,) = symptoms(WELL._replace(**change))
    assert (symptom.name, symptom.ends) == (name, ends)
    assert symptom.reason


@given(CONDITIONS)
def test_the_complaint_for_which_a_worker_must_end_comes_first(condition: WorkerCondition) -> None:
    ends = [symptom.ends for symptom in symptoms(condition)]
    assert ends == sorted(ends, reverse=True)


@given(st.integers(1, 1000))
def test_half_of_the_slots_may_hang_and_never_none_or_all_but_one(slots: int) -> None:
    assert 1 <= most_overdue(slots) <= slots
    assert 2 * most_overdue(slots) >= slots


@given(CONDITIONS)
def test_no_lease_is_renewed_for_a_loop_that_is_said_to_stand_still(condition: WorkerCondition) -> None:
    late = any(symptom.name == "loop_stands_still" for symptom in symptoms(condition))
    assert may_renew(condition.turn_age_s) is not late


def test_a_claim_needs_a_part_of_the_lease() -> None:
    lease = timedelta(seconds=60)
    assert may_claim(lease, lease)
    assert not may_claim(lease / CLAIM_SHARE, lease)
    assert not may_claim(timedelta(seconds=-1), lease)

"""A process that does not know the schedule tells a dead beat from a living one as one that does."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beat_schedule import EVERY
from domain.jobs.scheduling.ticks import MOST_FREQUENT, Tick, ticks_of, ticks_without_schedule

AGES = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=2))


def test_the_most_frequent_job_of_the_schedule_is_what_is_waited_for() -> None:
    assert min(EVERY.values()) == MOST_FREQUENT


def test_without_a_tick_no_beat_has_ever_run() -> None:
    assert ticks_without_schedule([]) == ticks_of([], EVERY)


@given(st.fixed_dictionaries(dict.fromkeys(EVERY, AGES)))
def test_a_beat_is_silent_for_both_or_for_none(ages: dict[str, timedelta]) -> None:
    found = [Tick(name, age, paused=False) for name, age in ages.items()]
    without, knowing = ticks_without_schedule(found), ticks_of(found, EVERY)
    assert (without.age, without.is_silent) == (knowing.age, knowing.is_silent)
    assert bool(without.late) == without.is_silent


@pytest.mark.parametrize("paused", [True, False])
def test_a_beat_that_is_stopped_behind_a_gate_is_not_late(paused: bool) -> None:
    found = ticks_without_schedule([Tick("approvals.expire", timedelta(hours=1), paused=paused)])
    assert (found.is_silent, bool(found.late)) == (True, not paused)

"""Ids that are made by who enqueues."""

import os
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.job_ids import EPOCH, MOST, NOISE, make_job_ids, upper_job_id

times = st.integers(1_600_000_000_000, 4_000_000_000_000).map(lambda ms: EPOCH + timedelta(milliseconds=ms))


@given(st.integers(0, 300), times)
def test_ids_are_of_version_7_stand_in_order_and_tell_their_time(count: int, at: datetime) -> None:
    made = make_job_ids(count, at, os.urandom(NOISE * count))
    assert list(made) == sorted(made)
    assert len(set(made)) == count
    for job_id in made:
        assert (job_id.version, job_id.variant) == (7, "specified in RFC 4122")
        assert job_id.int >> 80 == (at - EPOCH) // timedelta(milliseconds=1)


def test_the_largest_call_still_counts_up_and_a_larger_one_is_refused() -> None:
    at = datetime(2026, 11, 22, tzinfo=UTC)
    noise = bytes(NOISE * (MOST + 1))
    made = make_job_ids(MOST, at, noise)
    assert (list(made), len(set(made))) == (sorted(made), MOST)
    assert {job_id.version for job_id in made} == {7}
    with pytest.raises(ValueError, match="at most 4096 ids"):
        make_job_ids(MOST + 1, at, noise)


@given(
    times, st.integers(-3000, 3000), st.one_of(st.uuids(), times.map(lambda at: make_job_ids(1, at, bytes(NOISE))[0]))
)
def test_an_id_lies_below_a_position_as_its_time_and_itself_do(at: datetime, apart: int, job_id: UUID) -> None:
    """So one comparison of ids finds what comes before a position, whatever id the position has."""
    (made,) = make_job_ids(1, at, os.urandom(NOISE))
    position = at + timedelta(microseconds=apart)
    assert (made < upper_job_id(position, job_id)) == ((at, made) < (position, job_id))

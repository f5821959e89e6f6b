"""Looking through the ledger for what is old: nothing is missed, young jobs are not read, and rests keep the share."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.retention import (
    FIRST_ID,
    LONGEST_PAUSE_S,
    JobBatch,
    first_foreign_id,
    follow_up_key,
    next_place,
    pause_after,
)

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
KEEP = timedelta(days=7)


def own_id(age: timedelta, salt: int) -> UUID:
    """An id as PostgreSQL makes it."""
    milliseconds = int((NOW - age).timestamp() * 1000)
    return UUID(int=(milliseconds << 80) | (7 << 76) | (2 << 62) | salt)


AGES = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=30))
OWN = st.tuples(AGES, st.integers(0, 2**61)).map(lambda drawn: (own_id(*drawn), drawn[0]))
FOREIGN = st.tuples(st.uuids(version=4).filter(lambda one: one > first_foreign_id(NOW)), AGES)


def walk(jobs: dict[UUID, timedelta], batch: int) -> tuple[set[UUID], int]:
    """Delete as the statement does, until the end; what is left, and how many were looked at."""
    left, after, read = dict(jobs), FIRST_ID, 0
    while True:
        looked = sorted(one for one in left if one > after)[:batch]
        old = [one for one in looked if left[one] > KEEP]
        all_young = all(left[one] <= KEEP for one in looked)
        for one in old:
            del left[one]
        read += len(looked)
        place = next_place(JobBatch(len(old), len(looked), looked[-1] if looked else None, all_young), batch, NOW)
        if place is None:
            return set(left), read
        assert place > after
        after = place


@given(st.lists(OWN | FOREIGN, max_size=60), st.integers(1, 10))
def test_every_old_job_is_found_whoever_made_its_id(drawn: list[tuple[UUID, timedelta]], batch: int) -> None:
    jobs = dict(drawn)
    assert walk(jobs, batch)[0] == {one for one, age in jobs.items() if age <= KEEP}


def test_of_the_young_jobs_one_batch_is_read() -> None:
    jobs = {own_id(timedelta(hours=n), n): timedelta(hours=n) for n in range(24 * 7)}
    assert walk(jobs, batch=10)[1] <= 20


@given(st.floats(0.001, 0.5), st.floats(0.34, 1))
def test_work_and_rest_keep_the_share_and_the_rate(took: float, share: float) -> None:
    rest = pause_after(took, share, per_s=10)
    assert 0 <= rest <= LONGEST_PAUSE_S
    assert took + rest >= 0.1 - 1e-9, "ten batches in a second at most, however quick they are"
    assert rest == LONGEST_PAUSE_S or abs(took / (took + rest) - share) < 1e-6 or abs(took + rest - 0.1) < 1e-6
    assert rest == LONGEST_PAUSE_S or took / (took + rest) <= share + 1e-6


def test_runs_of_two_ticks_become_one() -> None:
    keys = [
        follow_up_key("maintenance.purge_expired_keys", NOW + timedelta(seconds=s), timedelta(seconds=20))
        for s in (0, 19, 20)
    ]
    assert keys[0] == keys[1] != keys[2]

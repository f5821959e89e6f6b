"""How much a worker takes on: never more than begins soon, never less than its free slots, and nothing forgotten."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.jobs.job import ClaimedJob, Origin
from engine.worker.capacity import SOON_S, Capacity, HeldJobs

SLOTS, JOBS, SECONDS = st.integers(0, 1000), st.integers(0, 2000), st.floats(0, 1e6)
CAPACITIES = st.builds(Capacity, SLOTS, JOBS, SECONDS)
MOST = 2048


@pytest.mark.parametrize(
    ("capacity", "next_s", "has_room"),
    [
        (Capacity(4, 3, 3600.0), 60.0, True),  # a slot is free, however long the others take
        (Capacity(4, 4, 240.0), 60.0, False),  # the next would begin when a minute is over
        (Capacity(200, 200, 20.0), 0.1, True),  # half of the slots are free again within 50 ms
        (Capacity(200, 290, 29.0), 0.1, True),
        (Capacity(200, 300, 30.0), 0.1, False),
        (Capacity(4, 500, 500 / 496 * (4 * SOON_S - 0.002)), 0.001, True),  # all that wait will have begun soon
        (Capacity(4, 500, 500 / 496 * 4 * SOON_S), 0.001, False),
        (Capacity(0, 0, 0.0), 0.0, False),  # a pool without processes
    ],
)
def test_a_slot_that_is_free_or_soon_free_lets_another_in(capacity: Capacity, next_s: float, has_room: bool) -> None:
    assert capacity.has_room(next_s) is has_room


@given(CAPACITIES, SECONDS, SLOTS, SECONDS)
def test_more_slots_and_less_work_never_have_less_room(
    capacity: Capacity, next_s: float, more: int, less: float
) -> None:
    if capacity.has_room(next_s):
        larger = Capacity(capacity.slots + more, capacity.jobs, min(capacity.work_s, less))
        assert larger.has_room(next_s)


@given(CAPACITIES)
@example(Capacity(0, 253, 132626.3028760689))  # once a rounding made more wait than there was
def test_the_work_that_waits_is_what_finds_no_slot(capacity: Capacity) -> None:
    slots, jobs, work_s = capacity
    assert 0 <= capacity.waiting_s <= work_s
    assert (capacity.waiting_s == 0) == (jobs <= slots or work_s == 0 or work_s * ((jobs - slots) / jobs) == 0)


@given(SLOTS, st.lists(st.floats(0, 3600), max_size=200))
def test_jobs_taken_one_by_one_fill_the_slots_and_what_begins_soon(slots: int, queue: list[float]) -> None:
    capacity = before = Capacity(slots, 0, 0.0)
    for seconds in queue:
        if not capacity.has_room(seconds):
            break
        capacity, before = capacity.plus(1, seconds), capacity
    assert capacity.jobs <= slots or before.waiting_s < slots * SOON_S
    assert capacity.jobs >= min(slots, len(queue))


@given(CAPACITIES, st.floats(0, 10), st.integers(0, 300))
def test_as_many_fit_as_have_room_one_after_the_other(capacity: Capacity, each_s: float, most: int) -> None:
    count = capacity.fitting(each_s, most)
    room = [capacity.plus(more, each_s).has_room(each_s) for more in range(most)]
    assert room == [True] * count + [False] * (most - count)


@given(CAPACITIES, st.integers(0, 5000), SECONDS)
def test_the_broker_is_asked_for_the_free_slots_at_least_and_for_a_bounded_number(
    capacity: Capacity, waiting: int, each_s: float
) -> None:
    wanted = capacity.hints_wanted(waiting, each_s, MOST)
    assert wanted >= max(0, capacity.free_slots - waiting)
    assert wanted <= max(capacity.free_slots, MOST)


@given(CAPACITIES, st.integers(0, 5000), SECONDS)
def test_who_waits_for_more_hints_asks_for_no_more(capacity: Capacity, waiting: int, each_s: float) -> None:
    wanted = capacity.hints_wanted(waiting, each_s, MOST)
    assert capacity.hints_wanted(waiting + 1, each_s, MOST) <= wanted


@pytest.mark.parametrize(
    ("capacity", "waiting", "each_s", "wanted"),
    [
        (Capacity(4, 0, 0.0), 0, 60.0, 4),  # the free slots, however long the jobs take
        (Capacity(4, 0, 0.0), 0, 0.01, 20),  # four slots work off 0.2 s of jobs within 50 ms
        (Capacity(4, 0, 0.0), 10, 0.01, 10),  # less the hints that are here already
        (Capacity(4, 8, 0.16), 0, 0.01, 12),  # less the 0.08 s of claimed jobs that wait for a slot
        (Capacity(4, 0, 0.0), 0, 0.0001, 2000),
    ],
)
def test_the_broker_is_asked_for_what_can_begin_soon(
    capacity: Capacity, waiting: int, each_s: float, wanted: int
) -> None:
    assert capacity.hints_wanted(waiting, each_s, MOST) == wanted


def test_more_jobs_bring_their_work() -> None:
    assert Capacity(4, 1, 0.5).plus(3, 0.25) == Capacity(4, 4, 1.25)


def claimed(number: int) -> ClaimedJob:
    return ClaimedJob(
        job_id=UUID(int=number), token=UUID(int=1), job_type="probe.run", queue="default", org_id=UUID(int=2),
        project_id=None, payload={}, payload_version=1, attempt=1, max_attempts=5, losses=0,
        deadline=timedelta(seconds=10), origin=Origin(), created_at=datetime(2026, 11, 23, tzinfo=UTC),
    )  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.25, 0.5, 2.0]), st.booleans())))
def test_what_is_held_is_what_was_added_and_not_removed(steps: list[tuple[int, float, bool]]) -> None:
    held, model = HeldJobs(), dict[int, float]()
    for number, seconds, adds in steps:
        job = claimed(number)
        if adds and number not in model:
            held.add(job, seconds)
            model[number] = seconds
        elif not adds:
            assert held.remove(job.job_id, job.token) == (job if number in model else None)
            model.pop(number, None)
        assert (len(held), held.work_s) == (len(model), sum(model.values()))
        assert held.find(job.job_id, job.token) == (job if number in model else None)
        assert held.find(job.job_id, UUID(int=9)) is None
        if model:
            assert held.newest.job_id == UUID(int=list(model)[-1])

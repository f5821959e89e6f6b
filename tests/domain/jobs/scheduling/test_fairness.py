"""Windows follow the workers' pace, and tenants get their weights, whatever the budgets are."""

from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.scheduling.fairness import (
    LOWER_SHARE,
    SMALLEST_WINDOW,
    HintWindow,
    OrgTurn,
    PriorityTurn,
    Tenant,
    adapt,
    offer,
    share,
)

TENANTS = [Tenant(UUID(int=n), weight) for n, weight in enumerate((1, 1, 3, 2, 10), start=1)]
windows = st.builds(HintWindow, size=st.integers(SMALLEST_WINDOW, 20_000), pace=st.floats(0, 50_000))
tenant_lists = st.lists(st.integers(1, 100), min_size=1, max_size=30).map(
    lambda weights: [Tenant(UUID(int=n), weight) for n, weight in enumerate(weights, start=1)]
)


def ring(tenants: list[Tenant], turn: OrgTurn | None) -> list[Tenant]:
    """The tenants in the order of their turns, as the ledger lists them."""
    start = turn.org_id if turn else UUID(int=0)
    return [t for t in tenants if t.org_id >= start] + [t for t in tenants if t.org_id < start]


@given(
    windows,
    st.integers(0, 50_000),
    st.integers(0, 50_000),
    st.floats(0, 10),
    st.integers(1, 20_000),
)
def test_a_window_stays_between_its_smallest_size_and_its_cap(
    window: HintWindow, taken: int, depth: int, seconds: float, cap: int
) -> None:
    after = adapt(window, taken=taken, depth=depth, seconds=seconds, cap=max(cap, window.size))
    assert SMALLEST_WINDOW <= after.size <= max(cap, window.size)
    assert after.pace >= 0


@given(st.integers(1, 20_000), st.integers(10, 15_000))
def test_a_window_finds_the_pace_of_fast_workers_within_a_second(cap: int, pace: int) -> None:
    """Workers that take `pace` hints a second from a window that is filled every 25 ms are soon never idle."""
    window, depth, tick = HintWindow(), 0, 0.025
    idle = 0
    for turn in range(200):
        wanted = round(pace * tick)
        taken = min(depth, wanted)
        idle = idle + 1 if taken < wanted and turn >= 40 else 0
        depth -= taken
        window = adapt(window, taken=taken, depth=depth, seconds=tick, cap=max(cap, 2 * pace))
        depth += window.room(depth)
    assert idle == 0
    assert window.size <= max(SMALLEST_WINDOW, pace), "a new job waits for a second at most"


def test_a_window_of_slow_workers_stays_small_although_they_claim_much_at_once() -> None:
    window = HintWindow()
    sizes = []
    for turn in range(400):
        taken = window.size if turn < 3 else int(turn % 20 == 0)  # then two jobs a second
        window = adapt(window, taken=taken, depth=window.size - taken, seconds=0.025, cap=10_000)
        sizes.append(window.size)
    assert max(sizes) <= SMALLEST_WINDOW * 8
    assert sizes[-1] == SMALLEST_WINDOW


def test_room_is_what_is_missing_and_never_negative() -> None:
    assert [HintWindow(10).room(depth) for depth in (0, 9, 10, 11)] == [10, 1, 0, 0]


def test_a_queue_overflows_beyond_twice_what_its_window_or_a_burst_needs() -> None:
    assert not HintWindow(10).overflows(40, burst=20)
    assert HintWindow(10).overflows(41, burst=20)
    assert not HintWindow(100).overflows(200, burst=20)


@given(st.integers(0, 5000), tenant_lists)
def test_the_quotas_sum_up_to_the_budget(budget: int, tenants: list[Tenant]) -> None:
    quotas, turn = share(budget, tenants, None)
    assert sum(quotas.values()) == budget
    assert min(quotas.values()) >= 0
    assert (turn is None) == (budget == 0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), tenant_lists)
def test_over_many_turns_each_tenant_gets_its_weight(budgets: list[int], tenants: list[Tenant]) -> None:
    """However the room comes, one at a time or many: no tenant is ever a whole round ahead of another."""
    got: Counter[UUID] = Counter()
    turn: OrgTurn | None = None
    for budget in budgets:
        quotas, turn = share(budget, ring(tenants, turn), turn)
        got.update(quotas)
        rounds = [(got[tenant.org_id] / tenant.weight) for tenant in tenants]
        assert max(rounds) - min(rounds) <= 1


def test_one_place_at_a_time_still_honours_the_weights() -> None:
    turn: OrgTurn | None = None
    served = []
    for _ in range(17):
        quotas, turn = share(1, ring(TENANTS, turn), turn)
        served += [org.int for org, quota in quotas.items() if quota]
    assert served == [1, 2, 3, 3, 3, 4, 4, *[5] * 10]


def test_a_tenant_without_a_backlog_passes_its_turn_on() -> None:
    gone = OrgTurn(UUID(int=3), 1)
    quotas, turn = share(2, [TENANTS[3], TENANTS[4]], gone)
    assert quotas == {UUID(int=4): 2, UUID(int=5): 0}
    assert turn == OrgTurn(UUID(int=4), 2)


def test_nobody_waits() -> None:
    assert share(5, [], None) == ({}, None)


def offered(rooms: list[int], waiting: dict[int, int]) -> Counter[int]:
    """How many hints each priority gets of these rooms in all; `waiting` are its jobs."""
    left, got, turn = Counter(waiting), Counter[int](), PriorityTurn()

    def take(priority: int, most: int) -> int:
        assert most >= 0
        taken = min(most, left[priority])
        left[priority] -= taken
        got[priority] += taken
        return taken

    for room in rooms:
        before = got.total()
        turn = offer(room, sorted((one for one in left if left[one]), reverse=True), turn, take)
        assert got.total() - before <= room
        assert left.total() == 0 or got.total() - before == room
        assert 0 <= turn.owed < 1
    return got


ENDLESS = 10**9


@given(st.lists(st.integers(0, 40), min_size=1, max_size=200), st.integers(2, 21))
def test_no_priority_waits_for_good_however_many_are_flooded(rooms: list[int], levels: int) -> None:
    got = offered(rooms, dict.fromkeys(range(levels), ENDLESS))
    lower = sum(rooms) * LOWER_SHARE
    assert abs(got.total() - got[levels - 1] - lower) <= 1
    each = lower / (levels - 1)
    for priority in range(levels - 1):
        # Hints are whole: of five, one of three priorities gets one and the others two.
        assert got[priority] >= each / 2 - 2


@given(
    st.lists(st.integers(0, 40), max_size=50), st.dictionaries(st.integers(-10, 10), st.integers(0, 200), max_size=6)
)
def test_no_room_stays_empty_while_anybody_waits(rooms: list[int], waiting: dict[int, int]) -> None:
    got = offered(rooms, waiting)
    assert all(got[priority] <= jobs for priority, jobs in waiting.items())


def test_the_lowest_of_twenty_one_priorities_gets_its_turn_in_the_smallest_rooms() -> None:
    got = offered([1] * 1000, dict.fromkeys(range(21), ENDLESS))
    assert got[20] == 875
    assert {got[priority] for priority in range(20)} == {6, 7}

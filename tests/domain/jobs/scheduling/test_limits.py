"""The table of limits is well-formed; a wait makes room, and a shorter one would not."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid, Scope
from domain.jobs.scheduling.limits import LIMITS, MINUTE, REFILL, Limit, WindowUsage, bounded, limits_of, wait_for_room

INSTANT = timedelta(milliseconds=1)
limits = st.sampled_from(LIMITS)


@st.composite
def windows(draw: st.DrawFn) -> tuple[Limit, WindowUsage, int]:
    """A limit, what was used of it, and a call that fits into an empty window."""
    limit = draw(limits)
    left = draw(st.floats(0, limit.per.total_seconds()))
    used = WindowUsage(draw(st.integers(0, limit.amount)), draw(st.integers(0, limit.amount)), timedelta(seconds=left))
    return limit, used, draw(st.integers(1, limit.amount))


@given(windows())
def test_after_the_wait_the_call_fits(window: tuple[Limit, WindowUsage, int]) -> None:
    limit, used, units = window
    wait = wait_for_room(limit, used, units)
    assert timedelta(0) <= wait <= 2 * limit.per
    assert used.weight(limit.per, wait + INSTANT) + units <= limit.amount + 1e-6


@given(windows())
def test_a_shorter_wait_would_not_refill_the_window(window: tuple[Limit, WindowUsage, int]) -> None:
    limit, used, units = window
    wait = wait_for_room(limit, used, units)
    if wait > INSTANT:
        wanted = min(limit.amount, max(units, limit.amount // REFILL))
        assert used.weight(limit.per, wait - INSTANT) + wanted > limit.amount


@given(windows(), st.integers(1, 100))
def test_a_dearer_call_never_waits_less(window: tuple[Limit, WindowUsage, int], more: int) -> None:
    limit, used, units = window
    assert wait_for_room(limit, used, units) <= wait_for_room(limit, used, units + more)


@given(windows(), st.floats(0, 120), st.floats(0, 120))
def test_what_was_used_only_fades(window: tuple[Limit, WindowUsage, int], earlier: float, later: float) -> None:
    limit, used, _ = window
    first, second = sorted((timedelta(seconds=earlier), timedelta(seconds=later)))
    assert used.weight(limit.per, first) >= used.weight(limit.per, second) - 1e-6
    assert used.weight(limit.per, 2 * limit.per) == 0


def test_an_empty_window_makes_nobody_wait() -> None:
    limit = limits_of("gmail")[0]
    assert wait_for_room(limit, WindowUsage(0, 0, MINUTE), limit.amount) == timedelta(0)


def test_a_call_that_is_dearer_than_the_window_takes_all_of_it() -> None:
    limit = limits_of("gmail", {"gmail.user": 10})[0]
    assert bounded(limit, 100) == 10
    assert wait_for_room(limit, WindowUsage(10, 0, MINUTE), 100) == 2 * MINUTE


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_a_limit_says_where_it_comes_from(limit: Limit) -> None:
    assert limit.name.startswith(f"{limit.provider}.")
    assert limit.scope in {Scope.ACCOUNT, Scope.ORG_PROVIDER, Scope.PROVIDER}
    assert limit.source.startswith("https://")
    assert limit.amount > 0
    assert limit.per >= timedelta(seconds=1)
    assert limit.per % timedelta(seconds=1) == timedelta(0), "windows are counted in whole seconds"


def test_names_are_unique() -> None:
    assert len({limit.name for limit in LIMITS}) == len(LIMITS)


def test_an_accounts_limit_is_asked_before_the_installations() -> None:
    assert [limit.name for limit in limits_of("gmail")] == ["gmail.user", "gmail.project"]
    assert [limit.amount for limit in limits_of("gmail", {"gmail.project": 7})] == [6_000, 7]


@pytest.mark.parametrize(
    ("provider", "amounts", "words"),
    [
        ("nobody", {}, "provider: nobody has no limits"),
        ("gmail", {"gmail.users": 5}, "rate_limits: gmail.users is no limit; there are gmail.user"),
        ("gmail", {"gmail.user": 0}, "gmail.user must be at least 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(provider: str, amounts: dict[str, int], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        limits_of(provider, amounts)

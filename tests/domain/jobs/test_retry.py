"""Retry is arithmetic: bounded, growing, and spread by jitter."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.retry import LEAST_SHARE, MOST_DOUBLINGS, POLICIES, RetryPolicy

policies = st.sampled_from(sorted(POLICIES.values(), key=lambda policy: policy.name))


@given(policies, st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_a_share_of_the_doubled_base_and_never_past_the_cap(
    policy: RetryPolicy, attempt: int, jitter: float
) -> None:
    most = min(policy.cap, policy.base * 2 ** min(attempt - 1, MOST_DOUBLINGS))
    assert most * LEAST_SHARE <= policy.delay(attempt, jitter) <= most


@given(policies, st.integers(1, 40), st.floats(0, 1, exclude_max=True), st.timedeltas(timedelta(0), timedelta(hours=1)))
def test_no_delay_is_below_the_least_that_its_policy_says(
    policy: RetryPolicy, attempt: int, jitter: float, least: timedelta
) -> None:
    assert replace(policy, least=least).for_job(1, 1).delay(attempt, jitter) >= least


@given(policies, st.integers(1, 40), st.floats(0.01, 1, exclude_max=True))
def test_a_later_attempt_never_waits_less_for_the_same_jitter(policy: RetryPolicy, attempt: int, jitter: float) -> None:
    assert policy.delay(attempt, jitter) <= policy.delay(attempt + 1, jitter)


@given(policies, st.none() | st.integers(1, 86_400), st.none() | st.integers(1, 86_400))
def test_a_jobs_own_times_come_before_its_policys(policy: RetryPolicy, base_s: int | None, cap_s: int | None) -> None:
    own = policy.for_job(base_s, cap_s)
    base = policy.base if base_s is None else timedelta(seconds=base_s)
    cap = policy.cap if cap_s is None else timedelta(seconds=cap_s)
    assert (own.base, own.cap, own.name, own.attempts) == (base, cap, policy.name, policy.attempts)
    assert own.delay(1, 0.999) <= min(base, cap)


@given(policies, st.integers(1, 40), st.floats(0, 0.5), st.floats(0.5, 1, exclude_max=True))
def test_jitter_spreads_the_retries(policy: RetryPolicy, attempt: int, low: float, high: float) -> None:
    assert policy.delay(attempt, low) <= policy.delay(attempt, high)


@pytest.mark.parametrize(
    ("name", "attempts", "base", "cap"),
    [
        ("standard", 5, 5, 300),
        ("notifications", 10, 5, 1800),
        ("planning", 3, 5, 120),
        ("exports", 5, 5, 600),
        ("engine", 4, 10, 900),
        ("patient", 4, 30, 900),
        ("pipeline", 3, 5, 300),
    ],
)
def test_the_policies_are_those_of_the_specification(name: str, attempts: int, base: int, cap: int) -> None:
    policy = POLICIES[name]
    assert (policy.attempts, policy.base, policy.cap) == (attempts, timedelta(seconds=base), timedelta(seconds=cap))
    nearly_all = policy.delay(1, 1 - 1e-9)
    assert timedelta(seconds=base * 0.99) < nearly_all <= timedelta(seconds=base)


@pytest.mark.parametrize(
    ("name", "least_s", "most_s"), [("standard", 7, 75), ("notifications", 255, 2_555), ("persistent", 2_055, 20_555)]
)
def test_all_attempts_of_a_policy_span(name: str, least_s: int, most_s: int) -> None:
    policy = POLICIES[name]

    def span(jitter: float) -> float:
        waits = (policy.delay(attempt, jitter) for attempt in range(1, policy.attempts))
        return sum(waits, timedelta(0)).total_seconds()

    assert span(0) == pytest.approx(least_s, abs=1)
    assert span(1 - 1e-9) == pytest.approx(most_s, abs=1)

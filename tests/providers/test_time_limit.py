"""What a call may take in all, alone and together with others."""

from dataclasses import dataclass

import pytest

from providers.ports.time_limit import TimeLimit, calls_within


@dataclass
class Hands:
    """A clock whose hands the test moves."""

    at: float = 100.0

    def __call__(self) -> float:
        return self.at


def test_a_call_alone_has_its_own_limit() -> None:
    limit = TimeLimit()
    limit.begin(3600)
    assert limit.left(5) == 5
    assert 3500 < limit.left() <= 3600


def test_calls_together_share_their_time() -> None:
    limit, clock = TimeLimit(), Hands()
    with calls_within(1000, clock):
        limit.begin(3600)
        assert limit.left() <= 1000
        clock.at += 999
        limit.begin(3600)
        assert limit.left() <= 1
        clock.at += 1
        limit.begin(3600)
        with pytest.raises(TimeoutError):
            limit.left()
    limit.begin(3600)
    assert limit.left() > 1000


def test_calls_within_others_have_no_more_time_than_those() -> None:
    limit, clock = TimeLimit(), Hands()
    with calls_within(100, clock):
        with calls_within(1000, clock):
            limit.begin(3600)
            assert limit.left() <= 100
        limit.begin(3600)
        assert limit.left() <= 100

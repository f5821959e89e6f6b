"""A message that nobody decided is asked about at growing ages, whatever the looks at the mailbox are apart."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from domain.mail.triage.asking_again import is_due_again

RECEIVED = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def asked_after(every: timedelta, span: timedelta) -> list[timedelta]:
    looks = [every * n for n in range(span // every + 1)]
    return [b for a, b in pairwise(looks) if is_due_again(RECEIVED, last_look=RECEIVED + a, now=RECEIVED + b)]


def test_it_is_asked_about_less_and_less_often() -> None:
    hours = [age // HOUR for age in asked_after(HOUR, timedelta(days=4))]
    assert hours == [1, 2, 4, 8, 16, 24, 48, 72, 96]


@pytest.mark.parametrize("every", [timedelta(minutes=7), timedelta(hours=5), timedelta(days=3)])
def test_no_age_is_missed_or_met_twice(every: timedelta) -> None:
    asked = asked_after(every, timedelta(days=9))
    assert len(asked) == len(set(asked)) <= 14
    assert asked[-1] > timedelta(days=9) - max(every, timedelta(days=1))


def test_a_message_that_came_in_after_the_last_look_is_due_by_its_age() -> None:
    before = RECEIVED - timedelta(days=30)
    assert is_due_again(RECEIVED, last_look=before, now=RECEIVED + timedelta(days=2))
    assert not is_due_again(RECEIVED, last_look=before, now=RECEIVED + timedelta(minutes=59))

"""Quiet hours by the clock on the wall, in ten zones and through the nights in which the clocks change."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.notifications.quiet_hours import QuietHours, quiet_hours

ZONES = (
    "Europe/Berlin", "Europe/London", "America/New_York", "America/Santiago", "America/Sao_Paulo", "Asia/Kolkata",
    "Asia/Tokyo", "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll",
)  # fmt: skip
NIGHT = QuietHours(time(22), time(7))
FIRST, LAST = (datetime(year, 1, 1, tzinfo=UTC).replace(tzinfo=None) for year in (2011, 2031))
MINUTES = st.integers(0, 24 * 60 - 1).map(lambda minute: time(minute // 60, minute % 60))


def is_in(clock: time, quiet: QuietHours) -> bool:
    """Whether a clock that shows this time shows quiet hours."""
    if quiet.begin < quiet.end:
        return quiet.begin <= clock < quiet.end
    return clock >= quiet.begin or clock < quiet.end


def shown(moment: datetime, zone: str) -> time:
    return moment.astimezone(ZoneInfo(zone)).time()


@pytest.mark.parametrize("zone", ZONES)
def test_a_year_of_quarter_hours_rings_at_no_quiet_time(zone: str) -> None:
    """novu#2808: 22:00 to 07:00, both nights in which the clocks change among them."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    while moment < datetime(2027, 1, 1, tzinfo=UTC):
        until = NIGHT.until(moment, zone)
        if is_in(shown(moment, zone), NIGHT):
            assert until is not None, moment
        if until is not None:
            assert until > moment
            assert not is_in(shown(until, zone), NIGHT)
            assert shown(until, zone) == time(7), "no gap lies at seven in the morning"
        moment += timedelta(minutes=15)


@given(
    MINUTES, MINUTES, st.sampled_from(ZONES), st.datetimes(timezones=st.just(UTC), min_value=FIRST, max_value=LAST)
)  # fmt: skip
def test_whatever_is_quiet_it_is_quiet_while_the_clock_shows_it(
    begin: time, end: time, zone: str, moment: datetime
) -> None:
    if begin == end:
        return
    quiet, at = QuietHours(begin, end), moment
    until = quiet.until(at, zone)
    if is_in(shown(at, zone), quiet):
        assert until is not None
    if until is not None:
        assert at < until <= at + timedelta(days=2)
        assert not is_in(shown(until, zone), quiet) or quiet.until(until, zone) is not None


@pytest.mark.parametrize(
    ("begin", "end", "moment", "until"),
    [
        # Berlin, 29 March 2026: 02:00 is 03:00.
        ("01:00", "02:30", "2026-03-29T00:10:00+00:00", "2026-03-29T01:00:00+00:00"),
        ("02:30", "06:00", "2026-03-29T01:00:00+00:00", "2026-03-29T04:00:00+00:00"),
        # Berlin, 25 October 2026: from 03:00 back to 02:00; half past two comes twice.
        ("01:00", "02:30", "2026-10-25T00:40:00+00:00", "2026-10-25T01:30:00+00:00"),
        ("22:00", "07:00", "2026-10-24T21:00:00+00:00", "2026-10-25T06:00:00+00:00"),
        ("22:00", "07:00", "2026-03-28T22:00:00+00:00", "2026-03-29T05:00:00+00:00"),
    ],
)
def test_the_nights_in_which_the_clocks_change(begin: str, end: str, moment: str, until: str) -> None:
    found = quiet_hours(begin, end).until(datetime.fromisoformat(moment), "Europe/Berlin")
    assert found == datetime.fromisoformat(until)


@pytest.mark.parametrize(
    ("begin", "end", "field"),
    [
        ("22", "x", "end"),
        ("25:00", "07:00", "begin"),
        ("07:00", "07:00", "end"),
        ("22:00:30", "07:00", "begin"),
        ("22:00Z", "07:00", "begin"),
    ],
)  # fmt: skip
def test_times_that_are_none_are_refused(begin: str, end: str, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        quiet_hours(begin, end)
    assert refused.value.field == field

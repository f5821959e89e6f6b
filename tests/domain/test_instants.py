"""Instants: every spelling of one is one value, in UTC; what names no instant is refused with the reason."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from domain.instants import NO_OFFSET, NO_TIME, TOO_FAR, read_instant, written
from domain.jobs.contract import Instant

MOMENTS = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31))  # noqa: DTZ001  # made aware below
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(MOMENTS, OFFSETS)
def test_every_spelling_is_one_instant_and_is_written_in_one_way(moment: datetime, zone: timezone) -> None:
    at = moment.replace(tzinfo=UTC)
    elsewhere = at.astimezone(zone).isoformat()
    for spelling in (elsewhere, elsewhere.replace("T", " "), written(at), written(at).lower()):
        assert read_instant(spelling) == at
        assert read_instant(spelling).utcoffset() == timedelta(0)
    assert TypeAdapter(Instant).dump_json(read_instant(elsewhere)).decode() == f'"{written(at)}"'


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("2026-11-24T09:30:00", NO_OFFSET),
        (datetime(2026, 11, 24, 9, 30), NO_OFFSET),  # noqa: DTZ001  # that is the mistake
        ("0001-01-01T00:00:00+10:00", TOO_FAR),
        ("9999-12-31T23:00:00-02:00", TOO_FAR),
        *((said, NO_TIME) for said in ("", "yesterday", "2026-11-24", "1700000000", 1_700_000_000, 1.5, True, None)),
        *((said, NO_TIME) for said in ("2026-13-24T09:30:00Z", "2026-11-24T25:00:00Z", "2026-11-24T09:30:60Z")),
        *((said, NO_TIME) for said in ("2026-W48-2T09:30:00Z", "2026-11-24T09:30:00 Z", "٢026-11-24T09:30:00Z")),
    ],
)
def test_what_names_no_instant_is_refused_with_the_reason(said: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason.partition(":")[0]):
        read_instant(said)

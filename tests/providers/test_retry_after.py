from datetime import UTC, datetime, timedelta

import pytest

from providers.retry_after import LONGEST, header_wait, worded_wait

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0),
        (" 30 ", 30),
        ("1.5", 1.5),
        ("Sun, 01 Nov 2026 12:00:20 GMT", 20),
        ("Sun, 01 Nov 2026 12:00:20 -0000", 20),
        ("Sun, 01 Nov 2026 11:00:00 GMT", 0),
    ],
)
def test_seconds_and_dates_are_read(header: str, seconds: float) -> None:
    assert header_wait(header, NOW) == timedelta(seconds=seconds)


@pytest.mark.parametrize("header", [None, "", "soon", "-5", "1e9", "9" * 400, "Sun, 99 Nov 2026 12:00:20 GMT"])
def test_what_cannot_be_read_asks_for_nothing(header: str | None) -> None:
    assert header_wait(header, NOW) is None


def test_nobody_is_parked_for_years() -> None:
    assert header_wait("999999999", NOW) == LONGEST
    assert worded_wait("Retry after 2999-01-01T00:00:00Z", NOW) == LONGEST

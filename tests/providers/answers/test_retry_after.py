from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


HUGE = "9" * 20
NO_WAIT = [
    None,
    "",
    "soon",
    "-5",
    "1e9",
    "9" * 400,
    "Sun, 99 Nov 2026 12:00:20 GMT",
    f"Mon, 23 Nov {HUGE} 00:05:00 GMT",
    f"Mon, {HUGE} Nov 2026 00:05:00 GMT",
    f"Mon, 23 Nov 2026 {HUGE}:05:00 GMT",
    f"Mon, 23 Nov 2026 00:{HUGE}:00 GMT",
    f"Mon, 23 Nov 2026 00:05:{HUGE} GMT",
    f"Mon, 23 Nov 2026 00:05:00 +{HUGE}",
    f"Mon, 23 Nov {'9' * 5_000} 00:05:00 GMT",
]


@pytest.mark.parametrize("header", NO_WAIT)
def test_what_cannot_be_read_asks_for_nothing(header: str | None) -> None:
    assert header_wait(header, NOW) is None


def test_nobody_is_parked_for_years() -> None:
    assert header_wait("999999999", NOW) == LONGEST
    assert worded_wait("Retry after 2999-01-01T00:00:00Z", NOW) == LONGEST


@pytest.mark.parametrize("text", ["0000-01-01T00:00:00Z", "2026-99-01T00:00:00Z", "2026-01-01T00:00:00+99:99"])
def test_words_that_cannot_be_read_ask_for_nothing(text: str) -> None:
    assert worded_wait(f"Retry after {text}", NOW) is None


@given(
    st.lists(st.sampled_from(["Mon,", "23", "Nov", "2026", "00:05:00", "GMT", "+0100", HUGE, "-", ":", "(", "0"])),
)
def test_no_header_raises(pieces: list[str]) -> None:
    for text in (" ".join(pieces), "".join(pieces)):
        wait = header_wait(text, NOW)
        assert wait is None or timedelta() <= wait <= LONGEST

"""A cron expression in words, and its next due times over a night in which the clocks change."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from domain.jobs.scheduling.cron import Missed, Timetable
from domain.jobs.scheduling.cron_words import due_times, in_words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("30 8 * * mon-fri", "at 08:30, Monday to Friday"),
        ("0 3 * * *", "at 03:00, each day"),
        ("0 8,12,18 * * *", "at 08:00, 12:00 and 18:00, each day"),
        ("*/5 * * * *", "every 5 minutes"),
        ("* * * * *", "every minute"),
        ("0 * * * *", "each hour"),
        ("15 */4 * * *", "every 4 hours at minute 15"),
        ("0 9-17 * * 1-5", "each hour from 09:00 to 17:00, Monday to Friday"),
        ("0 0 1 * *", "at 00:00, on day 1 of the month"),
        ("0 0 L * *", "at 00:00, on the last day of the month"),
        ("0 0 1,15 * 1", "at 00:00, on day 1, 15 of the month or on Monday"),
        ("0 0 24 12 *", "at 00:00, on day 24 of the month, in December"),
        ("0 6 * jan-mar sun,7", "at 06:00, on Sunday and Sunday, in January to March"),
        ("*/7 2-3 * * 1#2", "every 7 minutes of the hours 2-3, on 1#2"),
        ("no cron", "no cron"),
    ],
)
def test_an_expression_is_said_in_words(expression: str, words: str) -> None:
    assert in_words(expression) == words


@pytest.mark.parametrize(
    ("expression", "first", "local"),
    [
        # 02:30 does not exist on the 28th: the run is right after the gap.
        ("30 2 * * *", datetime(2027, 3, 27, 1, 30, tzinfo=UTC), ["27 02:30 +01", "28 03:00 +02", "29 02:30 +02"]),
        # 02:30 comes twice on the 25th: there is one run.
        ("30 2 * * *", datetime(2026, 10, 24, 0, 30, tzinfo=UTC), ["24 02:30 +02", "25 02:30 +02", "26 02:30 +01"]),
        # Each hour is each hour of elapsed time.
        ("0 * * * *", datetime(2026, 10, 25, 0, tzinfo=UTC), ["25 02:00 +02", "25 02:00 +01", "25 03:00 +01"]),
    ],
)
def test_the_next_runs_of_a_night_in_which_the_clocks_change(
    expression: str, first: datetime, local: list[str]
) -> None:
    found = due_times(Timetable(expression, "Europe/Berlin", Missed.SKIP), first, 3)
    assert [f"{at.astimezone(ZoneInfo('Europe/Berlin')):%d %H:%M %z}"[:-2] for at in found] == local

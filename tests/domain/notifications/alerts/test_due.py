"""Which alerts are due: few, the same whoever looks, and none about an alert that could not be delivered."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.notifications.alerts.alert import Alert, AlertKind, alert_of, payload_of, text_of, title_of
from domain.notifications.alerts.due import (
    LONG_PARK,
    MOST_TYPES,
    OTHERS,
    REMIND_EVERY,
    SILENT,
    WINDOW,
    ClosedGate,
    LetterCount,
    alerts_due,
    look_from,
    window_of,
)

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive
SPANS = st.timedeltas(timedelta(0), timedelta(days=40))
TYPES = st.sampled_from(["gmail.sync", "drafts.write", *SILENT])


def counts_at(moments: list[tuple[str, datetime]]) -> list[LetterCount]:
    """As the ledger counts them."""
    counted = Counter((job_type, window_of(moment)) for job_type, moment in moments)
    return [LetterCount(job_type, since, count, "first", "invalid") for (job_type, since), count in counted.items()]


@given(st.lists(st.tuples(TYPES, MOMENTS), max_size=50), MOMENTS)
def test_a_storm_raises_two_alerts_per_job_type_and_window_at_most(
    moments: list[tuple[str, datetime]], now: datetime
) -> None:
    raised = Counter((one.subject, one.since) for one in alerts_due(counts_at(moments), [], now))
    assert all(count <= 2 for count in raised.values())
    assert {subject for subject, _ in raised}.isdisjoint(SILENT)
    assert set(raised) == {(kind, window_of(at)) for kind, at in moments if kind not in SILENT}


@given(st.integers(0, 60), st.integers(1, 3))
def test_types_that_nobody_knows_are_few_alerts_and_a_number(types: int, each: int) -> None:
    counts = [LetterCount(f"made.up.{n}", NOON, each, f"{n:04}", "unknown_type") for n in range(types)]
    during, after = (alerts_due(reversed(counts), [], at) for at in (NOON, NOON + WINDOW))
    assert [one.subject for one in during] == [f"made.up.{n}" for n in range(min(types, MOST_TYPES))]
    assert sum(one.count for one in after if one.subject == OTHERS) == max(0, types - MOST_TYPES) * each
    assert len(after) <= 2 * MOST_TYPES + 1


@given(st.text(max_size=3000), st.text(max_size=3000))
def test_no_name_and_no_reason_is_too_long_for_a_payload(subject: str, detail: str) -> None:
    alert = Alert(AlertKind.PROVIDER, subject, NOON, detail=detail, reference=subject)
    assert subject.startswith(alert_of(payload_of(alert)).subject)


@given(MOMENTS, SPANS)
def test_each_moment_has_one_window(moment: datetime, length: timedelta) -> None:
    length += timedelta(seconds=1)
    begin = window_of(moment, length)
    assert begin <= moment < begin + length
    assert window_of(begin, length) == begin


@given(MOMENTS)
def test_the_window_before_is_still_counted(now: datetime) -> None:
    assert look_from(now) == window_of(now) - WINDOW <= now - WINDOW


def test_the_number_comes_when_the_window_is_over() -> None:
    storm = [LetterCount("gmail.sync", NOON, 40, "letter-1", "invalid")]
    first = Alert(AlertKind.DEAD_LETTER, "gmail.sync", NOON, detail="invalid", reference="letter-1")
    assert alerts_due(storm, [], NOON + WINDOW - timedelta(seconds=1)) == (first,)
    total = Alert(AlertKind.DEAD_LETTERS, "gmail.sync", NOON, count=40)
    assert alerts_due(storm, [], NOON + WINDOW) == (first, total)
    assert alerts_due([LetterCount("gmail.sync", NOON, 1, "letter-1", "invalid")], [], NOON + WINDOW) == (first,)


@given(SPANS, SPANS)
def test_a_provider_is_named_once_a_day_while_it_refuses_for_long(lasts: timedelta, later: timedelta) -> None:
    park = ClosedGate("anthropic", "messages: status 401", NOON, NOON + lasts)
    now = NOON + later
    raised = alerts_due([], [park], now)
    assert bool(raised) == (lasts >= LONG_PARK and later < lasts)
    assert all(one.since == window_of(now, REMIND_EVERY) for one in raised)


@given(st.sampled_from(AlertKind), st.text(max_size=200))
def test_every_kind_has_words_that_name_its_subject(kind: AlertKind, subject: str) -> None:
    alert = Alert(kind, subject, NOON, 3, "the detail", "the-reference")
    assert subject in title_of(alert) + text_of(alert)

"""What becomes of an effect in doubt whose job has ended."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.effects import (
    CannotTell,
    Doubt,
    EffectStatus,
    Found,
    NotFound,
    Resolution,
    Strategy,
    conclude,
    resolution_of,
    sort_out,
)
from domain.notifications.alerts.due import alerts_of_doubts

AT = datetime(2026, 11, 24, 9, tzinfo=UTC)

DOUBTS = st.builds(
    Doubt,
    org_id=st.just(UUID(int=1)),
    key=st.text(min_size=1, max_size=40),
    strategy=st.sampled_from(Strategy),
    status=st.sampled_from([None, EffectStatus.UNKNOWN]),
    job_id=st.uuids(),
    job_type=st.sampled_from([None, "drafts.write", "outbound.send"]),
    since=st.integers(0, 400).map(lambda hours: AT + timedelta(hours=hours)),
)


@given(DOUBTS, st.booleans())
def test_every_doubt_is_asked_about_or_told_unless_twice_is_the_same_as_once(doubt: Doubt, can_ask: bool) -> None:
    way = resolution_of(doubt, can_ask=can_ask)
    assert (way is Resolution.LEAVE) == (doubt.strategy is Strategy.IDEMPOTENT and doubt.status is None)
    assert way is not Resolution.ASK or (can_ask and doubt.strategy is Strategy.FIND)


@given(st.lists(DOUBTS, max_size=20))
def test_each_doubt_goes_one_way(doubts: list[Doubt]) -> None:
    asked, told = sort_out(doubts, lambda one: one.job_type == "drafts.write")
    assert len(asked) + len(told) <= len(doubts)
    assert not [each for each in asked if each in told]
    assert all(each.job_type == "drafts.write" for each in asked)


@given(st.lists(DOUBTS, max_size=20))
def test_the_same_doubts_raise_the_same_alerts_each_of_another_key(doubts: list[Doubt]) -> None:
    alerts = alerts_of_doubts(doubts)
    assert alerts == alerts_of_doubts(doubts)
    assert len({(one.kind, one.subject, one.since) for one in alerts}) == len(alerts)
    assert sum(one.count for one in alerts) == len(doubts)


def test_what_the_provider_says_is_written_down() -> None:
    assert conclude(Found({"draft_id": "d"}))[:2] == (EffectStatus.SUCCEEDED, {"draft_id": "d"})
    assert conclude(NotFound())[0] is EffectStatus.FAILED
    unknown = conclude(CannotTell("the list lags"))
    assert (unknown.status, unknown.error) == (
        EffectStatus.UNKNOWN,
        {"code": "uncertain", "reason": "the list lags"},
    )

"""Whose choice counts, for every state of an action and every role."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.approvals.approvers import UserRole
from domain.approvals.decision import Choice, Refusal, Standing, refusal_of
from domain.approvals.timing import REMIND_AFTER_SHARE
from domain.mail.actions.status import MOVES, ActionStatus
from settings import Settings

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
STANDINGS = st.builds(
    Standing,
    state=st.sampled_from(ActionStatus),
    expires_at=st.none() | st.timedeltas(timedelta(-2), timedelta(2)).map(lambda offset: NOON + offset),
    is_its_place=st.booleans(),
    role=st.none() | st.sampled_from(UserRole),
)


@given(STANDINGS)
def test_only_an_approver_in_the_right_place_decides_about_what_still_waits(standing: Standing) -> None:
    counts = refusal_of(standing, NOON) is None
    waits = standing.state is ActionStatus.APPROVED_PENDING
    in_time = standing.expires_at is None or standing.expires_at > NOON
    may = standing.role is not None and standing.role.may_decide
    assert counts == (waits and in_time and may and standing.is_its_place)


@given(STANDINGS)
def test_who_asks_from_elsewhere_learns_nothing(standing: Standing) -> None:
    elsewhere = replace(standing, is_its_place=False)
    assert refusal_of(elsewhere, NOON) is refusal_of(None, NOON) is Refusal.NOT_HERE


def test_what_is_too_late_is_told_from_what_was_decided() -> None:
    late = Standing(ActionStatus.APPROVED_PENDING, NOON, is_its_place=True, role=UserRole.OWNER)
    assert refusal_of(late, NOON) is Refusal.EXPIRED
    assert refusal_of(replace(late, state=ActionStatus.EXPIRED), NOON) is Refusal.EXPIRED
    assert refusal_of(replace(late, state=ActionStatus.DONE), NOON) is Refusal.DECIDED
    assert refusal_of(replace(late, state=ActionStatus.CANCELED), NOON) is Refusal.ENDED


def test_every_choice_is_a_move_that_the_table_has() -> None:
    assert {(ActionStatus.APPROVED_PENDING, choice.status) for choice in Choice} <= MOVES


def test_the_reminder_comes_a_day_before_the_end() -> None:
    lasts = Settings.model_fields["approval_expires_after_s"].default
    assert timedelta(seconds=lasts * (1 - REMIND_AFTER_SHARE)) == timedelta(days=1)

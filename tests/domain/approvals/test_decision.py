"""Whose choice counts, for every state of an action and every role."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.access.users import UserRole
from domain.approvals.decision import (
    REMIND_AFTER_SHARE,
    ActionStanding,
    Choice,
    Refusal,
    Standing,
    closed_to,
    refusal_of,
)
from domain.mail.actions.status import MOVES, ActionStatus
from settings import Settings

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
STANDINGS = st.builds(
    Standing,
    action=st.builds(
        ActionStanding,
        state=st.sampled_from(ActionStatus),
        expires_at=st.none() | st.timedeltas(timedelta(-2), timedelta(2)).map(lambda offset: NOON + offset),
        is_decided=st.booleans(),
    ),
    is_its_place=st.booleans(),
    role=st.none() | st.sampled_from(UserRole),
)


@given(STANDINGS)
def test_only_an_approver_in_the_right_place_decides_about_what_still_waits(standing: Standing) -> None:
    counts = refusal_of(standing, NOON) is None
    action = standing.action
    waits = action.state is ActionStatus.APPROVED_PENDING
    in_time = action.expires_at is None or action.expires_at > NOON
    may = standing.role is not None and standing.role.may_decide
    assert counts == (waits and in_time and may and standing.is_its_place)


@given(STANDINGS)
def test_who_asks_from_elsewhere_learns_nothing(standing: Standing) -> None:
    elsewhere = replace(standing, is_its_place=False)
    assert refusal_of(elsewhere, NOON) is refusal_of(None, NOON) is Refusal.NOT_HERE


@given(STANDINGS)
def test_nothing_that_waits_is_called_decided(standing: Standing) -> None:
    if standing.action.state is ActionStatus.APPROVED_PENDING:
        assert refusal_of(standing, NOON) not in {Refusal.DECIDED, Refusal.ENDED}


def test_what_is_too_late_is_told_from_what_was_decided() -> None:
    late = ActionStanding(ActionStatus.APPROVED_PENDING, NOON, is_decided=False)
    expired = replace(late, state=ActionStatus.EXPIRED)
    assert closed_to(late, NOON) is Refusal.EXPIRED
    assert closed_to(expired, NOON) is Refusal.EXPIRED
    assert closed_to(replace(expired, is_decided=True), NOON) is Refusal.DECIDED
    assert closed_to(replace(late, state=ActionStatus.DONE), NOON) is Refusal.DECIDED
    assert closed_to(replace(late, state=ActionStatus.CANCELED), NOON) is Refusal.ENDED


def test_every_choice_is_a_move_that_the_table_has() -> None:
    assert {(ActionStatus.APPROVED_PENDING, choice.status) for choice in Choice} <= MOVES


def test_the_reminder_comes_a_day_before_the_end() -> None:
    lasts = Settings.model_fields["approval_expires_after_s"].default
    assert timedelta(seconds=lasts * (1 - REMIND_AFTER_SHARE)) == timedelta(days=1)

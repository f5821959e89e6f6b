"""Whose choice counts, for every state of a question and every role."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.approvals.decision import (
    OF_ACTIONS,
    REMIND_AFTER_SHARE,
    ApprovalStanding,
    ApprovalState,
    PressFacts,
    Refusal,
    action_state,
    closed_to,
    refusal_of,
)
from domain.mail.actions.status import MOVES, ActionStatus
from domain.orgs.access.users import MAY_DECIDE, UserRole
from settings import Settings

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
STANDINGS = st.builds(
    PressFacts,
    approval=st.builds(
        ApprovalStanding,
        state=st.sampled_from(ApprovalState),
        expires_at=st.none() | st.timedeltas(timedelta(-2), timedelta(2)).map(lambda offset: NOON + offset),
    ),
    is_its_place=st.booleans(),
    role=st.none() | st.sampled_from(UserRole),
    deciders=st.sampled_from([MAY_DECIDE, frozenset({UserRole.OWNER})]),
)


@given(STANDINGS)
def test_only_an_approver_in_the_right_place_decides_about_what_still_waits(standing: PressFacts) -> None:
    counts = refusal_of(standing, NOON) is None
    approval = standing.approval
    waits = approval.state is ApprovalState.WAITING
    in_time = approval.expires_at is None or approval.expires_at > NOON
    assert counts == (waits and in_time and standing.role in standing.deciders and standing.is_its_place)


@given(STANDINGS)
def test_who_asks_from_elsewhere_learns_nothing(standing: PressFacts) -> None:
    elsewhere = replace(standing, is_its_place=False)
    assert refusal_of(elsewhere, NOON) is refusal_of(None, NOON) is Refusal.NOT_HERE


@given(STANDINGS)
def test_nothing_that_waits_is_called_decided(standing: PressFacts) -> None:
    if standing.approval.state is ApprovalState.WAITING:
        assert refusal_of(standing, NOON) not in {Refusal.DECIDED, Refusal.ENDED}


def test_what_is_too_late_is_told_from_what_was_decided() -> None:
    late = ApprovalStanding(ApprovalState.WAITING, NOON)
    assert closed_to(late, NOON) is Refusal.EXPIRED
    ends = {state: closed_to(replace(late, state=state), NOON) for state in ApprovalState}
    assert {state for state, why in ends.items() if why is Refusal.DECIDED} == {
        ApprovalState.APPROVED, ApprovalState.DENIED, ApprovalState.LAPSED, ApprovalState.UNASKED
    }  # fmt: skip
    assert ends[ApprovalState.CANCELED] is Refusal.ENDED


def test_every_state_of_an_action_says_how_its_question_stands() -> None:
    """Only what can follow an approval counts as approved."""
    after, found = {ActionStatus.APPROVED}, set[ActionStatus]()
    while after - found:
        found |= after
        after = {to for before, to in MOVES if before in found}
    assert OF_ACTIONS.keys() == set(ActionStatus)
    approved = {status for status, state in OF_ACTIONS.items() if state is ApprovalState.APPROVED}
    assert approved == found - {ActionStatus.EXPIRED, ActionStatus.CANCELED}
    ends = {action_state(ActionStatus.EXPIRED, is_decided=is_decided) for is_decided in (True, False)}
    assert ends == {ApprovalState.LAPSED, ApprovalState.EXPIRED}


def test_the_reminder_comes_a_day_before_the_end() -> None:
    lasts = Settings.model_fields["approval_expires_after_s"].default
    assert timedelta(seconds=lasts * (1 - REMIND_AFTER_SHARE)) == timedelta(days=1)

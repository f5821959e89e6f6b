"""Several snoozes of one message: exactly one counts, whatever was undone, and in whatever order."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.actions.action import LabelWish
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.snoozing import (
    RECONNECTED_WITHIN,
    PastSnooze,
    check_wake,
    comes_back,
    held_until,
    is_given_up,
    plan_unsnooze,
    why_not_wake,
)
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import UndoHint, applied, hint_for
from domain.mail.mailbox import INBOX
from domain.payloads.actions import UnsnoozePayload
from tests.domain.mail.actions.any_action import NOON

ASLEEP = "Label_7"
HERE, ACTION = UUID(int=1), UUID(int=2)


def snoozes(*stated: tuple[ActionStatus, int]) -> list[PastSnooze]:
    """Snoozes in the order in which they were asked for, each with its status and its hour after noon."""
    return [
        PastSnooze(UUID(int=place), status, NOON - timedelta(hours=1), NOON + timedelta(hours=hour), ASLEEP)
        for place, (status, hour) in enumerate(stated)
    ]


DONE, UNDONE, FAILED = ActionStatus.DONE, ActionStatus.UNDONE, ActionStatus.FAILED
SOME = st.lists(st.tuples(st.sampled_from([DONE, UNDONE, FAILED]), st.integers(-5, 5)), min_size=1, max_size=6).map(
    lambda stated: snoozes(*stated)
)


def hint(before: set[str], one: PastSnooze) -> UndoHint:
    """The hint of a snooze of a message that carried these labels."""
    label_id = one.label_id or ASLEEP
    made = hint_for(Snooze(amount=1, units="days"), before, (before | {label_id}) - {INBOX})
    return made.model_copy(update={"snooze_until": one.until, "snooze_label_id": label_id})


@given(SOME)
def test_of_all_done_snoozes_only_the_last_wakes_the_message(known: list[PastSnooze]) -> None:
    done = [one for one in known if one.status is DONE]
    woken = [one for one in done if why_not_wake(one, known) is None]
    assert woken == done[-1:]


@given(SOME)
def test_the_undo_of_an_earlier_snooze_changes_nothing_while_a_later_one_holds(known: list[PastSnooze]) -> None:
    for place, one in enumerate(known):
        later = [each for each in known[place + 1 :] if each.status is DONE]
        held = bool(later) and later[-1].until is not None and later[-1].until > NOON
        assert (held_until(one, known, NOON) is not None) is held
        if held:
            plan = plan_unsnooze(one, hint({INBOX}, one), known, NOON)
            assert plan == (None, LabelWish())


def test_the_undo_of_an_earlier_snooze_takes_its_own_label_off_and_the_later_one_then_brings_the_message_back() -> None:
    first, second = snoozes((DONE, 1), (DONE, 3))
    first = replace(first, label_id="Label_8")
    carried = frozenset({"Label_8", ASLEEP})
    plan = plan_unsnooze(first, hint({INBOX}, first), [first, second], NOON)
    assert plan.move is None
    assert plan.labels == LabelWish(frozenset(), frozenset({"Label_8"}))
    left, undone = applied(carried, plan.labels), replace(first, status=UNDONE)
    after = plan_unsnooze(second, hint({"Label_8"}, second), [undone, second], NOON)
    assert applied(left, after.labels) == {INBOX}


def test_a_label_that_another_snooze_needs_stays() -> None:
    first, second, third = snoozes((DONE, 1), (DONE, 2), (DONE, 3))
    second = replace(second, label_id="Label_8")
    plan = plan_unsnooze(first, hint({INBOX}, first), [first, second, third], NOON)
    assert plan.labels == LabelWish()
    plan = plan_unsnooze(second, hint({ASLEEP}, second), [first, second, third], NOON)
    assert plan.labels.remove == {"Label_8"}
    by_hand = plan_unsnooze(second, hint({"Label_8"}, second), [first, second, third], NOON)
    assert by_hand.labels == LabelWish()


@given(SOME)
def test_after_the_undo_of_the_last_snooze_the_one_before_it_counts(known: list[PastSnooze]) -> None:
    """The message is away exactly as long as the last snooze that was neither undone nor failed says."""
    last = known[-1]
    if last.status is not DONE or last.until is None or last.until <= NOON or len(known) == 1:
        return
    away = frozenset({ASLEEP})
    plan = plan_unsnooze(last, hint(set(away), last), known, NOON)
    left = [one for one in known[:-1] if one.status is DONE]
    still_away = bool(left) and left[-1].until is not None and left[-1].until > NOON
    assert (INBOX in applied(away, plan.labels)) is not still_away


@given(SOME)
def test_the_undo_of_the_only_snooze_restores_the_labels_from_before(known: list[PastSnooze]) -> None:
    one = known[0]
    for before in ({INBOX, "UNREAD"}, {"UNREAD"}, set[str]()):
        carried = applied(before, LabelWish(frozenset({ASLEEP}), frozenset({INBOX})))
        plan = plan_unsnooze(one, hint(before, one), [one], NOON)
        assert applied(carried, plan.labels) == before


def test_a_message_that_a_person_put_to_sleep_by_hand_stays_asleep() -> None:
    (one,) = snoozes((DONE, 3))
    assert not comes_back(one, hint({ASLEEP}, one), [one], NOON)


def test_a_snooze_that_is_carried_out_holds_the_message_already() -> None:
    first, second = snoozes((DONE, 1), (ActionStatus.EXECUTING, 3))
    assert held_until(first, [first, second], NOON) == second.until


@given(st.integers(0, 100))
def test_an_account_is_waited_for_from_the_time_the_message_was_due(days: int) -> None:
    (one,) = snoozes((DONE, 0))
    assert is_given_up(one, NOON + timedelta(days=days)) is (timedelta(days=days) > RECONNECTED_WITHIN)


def test_a_wake_is_for_its_own_message_label_and_snooze() -> None:
    (one,) = snoozes((DONE, 1))
    order = UnsnoozePayload(account_id=HERE, message_id="m1", action_id=ACTION, snooze_label_id=ASLEEP)
    kept = hint({INBOX}, one)
    check_wake(order, ActionKind.SNOOZE, "m1", kept)
    check_wake(order, ActionKind.SNOOZE, "m1", None)
    for kind, message_id, label, field in (
        (ActionKind.ARCHIVE, "m1", ASLEEP, "action_id"),
        (ActionKind.SNOOZE, "m2", ASLEEP, "message_id"),
        (ActionKind.SNOOZE, "m1", "Label_8", "snooze_label_id"),
    ):
        with pytest.raises(Invalid) as refused:
            check_wake(order, kind, message_id, kept.model_copy(update={"snooze_label_id": label}))
        assert refused.value.field == field

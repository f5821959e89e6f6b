"""Undo restores the labels from before an action exactly, whatever the mailbox's own habits are."""

from collections.abc import Collection
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Conflict
from domain.mail.actions.action import Action, LabelWish
from domain.mail.actions.kinds import ActionKind, Inverse
from domain.mail.actions.label_actions import Archive, LabelAction
from domain.mail.actions.requested_action import AutoReply, Delete, Forward, Restore, Trash
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import (
    UndoHint,
    applied,
    change_of,
    check_undoable,
    hint_for,
    irreversible,
    plan_undo,
    read_hint,
)
from domain.mail.mailbox import INBOX, TRASH
from tests.domain.mail.actions.any_action import LABEL_ACTIONS, SNOOZES

NAMES = [INBOX, TRASH, "UNREAD", "STARRED", "IMPORTANT", "CATEGORY_SOCIAL", "Label_1", "Label_2", "Snoozed"]
LABELS = st.frozensets(st.sampled_from(NAMES))
REVERSIBLE: st.SearchStrategy[Action] = st.one_of(LABEL_ACTIONS, SNOOZES, st.sampled_from([Trash(), Restore()]))


class Habits(NamedTuple):
    """What trash and untrash do besides TRASH; reports differ (docs: gmail.md#trash)."""

    trash_takes_inbox: bool
    untrash_gives_inbox: bool


HABITS = st.builds(Habits, st.booleans(), st.booleans())


def moved(labels: Collection[str], to_trash: bool, habits: Habits) -> frozenset[str]:
    """A message after trash or untrash."""
    carried = frozenset(labels)
    if to_trash == (TRASH in carried):
        return carried
    if to_trash:
        return (carried | {TRASH}) - ({INBOX} if habits.trash_takes_inbox else set())
    return (carried - {TRASH}) | ({INBOX} if habits.untrash_gives_inbox else set())


def executed(action: Action, labels: frozenset[str], habits: Habits) -> frozenset[str]:
    if isinstance(action, LabelAction):
        return applied(labels, change_of(labels, action.wish))
    if isinstance(action, Snooze):
        wish = LabelWish(frozenset({"Snoozed"}), frozenset({INBOX}))
        return applied(labels, change_of(labels, wish))
    return moved(labels, isinstance(action, Trash), habits)


def undone(hint: UndoHint, labels: frozenset[str], habits: Habits) -> frozenset[str]:
    plan = plan_undo(hint)
    if plan.move is not None:
        labels = moved(labels, plan.move is Inverse.TRASH, habits)
    return applied(labels, change_of(labels, plan.labels))


@given(REVERSIBLE, LABELS, HABITS)
def test_undo_restores_the_labels_exactly(action: Action, before: frozenset[str], habits: Habits) -> None:
    after = executed(action, before, habits)
    hint = read_hint(hint_for(action, before, after).document())
    assert undone(hint, after, habits) == before
    assert undone(hint, undone(hint, after, habits), habits) == before  # an attempt that comes again


@given(REVERSIBLE, LABELS, HABITS, st.sampled_from(["Other_1", "Other_2"]))
def test_undo_leaves_what_others_did_since(action: Action, before: frozenset[str], habits: Habits, other: str) -> None:
    after = executed(action, before, habits)
    assert undone(hint_for(action, before, after), after | {other}, habits) == before | {other}


@pytest.mark.parametrize("action", [Delete(), Forward(to=("a@example.org",)), AutoReply(text="thanks")])
def test_what_cannot_be_undone_says_so(action: Action) -> None:
    hint = hint_for(action, {INBOX}, set())
    assert not action.is_reversible
    assert (hint.inverse_action, hint.irreversible) == (Inverse.NONE, True)
    with pytest.raises(Conflict, match="cannot be undone"):
        check_undoable(action.kind, ActionStatus.DONE, hint.document())


@pytest.mark.parametrize("status", [one for one in ActionStatus if one is not ActionStatus.DONE])
def test_only_what_is_done_is_undone(status: ActionStatus) -> None:
    hint = hint_for(Archive(), {INBOX}, set()).document()
    with pytest.raises(Conflict) as refused:
        check_undoable(ActionKind.ARCHIVE, status, hint)
    assert refused.value.code == "action.not_undoable"
    assert str(status) in refused.value.reason


def test_an_undo_is_not_undone() -> None:
    with pytest.raises(Conflict):
        check_undoable(ActionKind.UNDO, ActionStatus.DONE, irreversible(ActionKind.UNDO).document())

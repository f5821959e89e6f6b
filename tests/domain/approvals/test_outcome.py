"""How a question ended, in words: nothing counts as approved but what a person has approved."""

from domain.approvals.decision import Refusal
from domain.approvals.outcome import OUTCOMES, WORDS, outcome_of, refusal_words
from domain.mail.actions.status import MOVES, ActionStatus

ANNA = "anna@example.org"


def test_the_end_names_who_and_why() -> None:
    assert outcome_of(ActionStatus.DENIED, ANNA, "not\nnow") == f"Denied by {ANNA}: not now"
    assert outcome_of(ActionStatus.CANCELED, ANNA, "disconnected") == "Canceled, and not executed: disconnected"
    assert outcome_of(ActionStatus.EXPIRED, None, None) == "Expired: nobody decided in time. It is not executed."


def test_an_action_that_moved_on_was_approved() -> None:
    assert outcome_of(ActionStatus.DONE, ANNA, None) == f"Approved by {ANNA}"
    late = f"Approved by {ANNA}, but not begun in time. It is not executed."
    assert outcome_of(ActionStatus.EXPIRED, ANNA, "fine") == late


def test_every_state_has_its_words_and_only_what_can_follow_an_approval_is_called_approved() -> None:
    after, found = {ActionStatus.APPROVED}, set[ActionStatus]()
    while after - found:
        found |= after
        after = {to for before, to in MOVES if before in found}
    called = {state for state in ActionStatus if outcome_of(state, None, None).startswith("Approved")}
    assert OUTCOMES.keys() == set(ActionStatus)
    assert called == found - {ActionStatus.EXPIRED, ActionStatus.CANCELED}


def test_every_refusal_has_its_words_and_an_outcome_is_told_where_there_is_one() -> None:
    assert WORDS.keys() == set(Refusal)
    told = {refusal for refusal in Refusal if refusal_words(refusal, "Denied").endswith(" Denied")}
    assert told == {Refusal.DECIDED, Refusal.ENDED}

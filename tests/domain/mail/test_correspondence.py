import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.correspondence import (
    SETTLED,
    EmailEvent,
    EmailState,
    LabelRole,
    label_key,
    label_name,
    label_plan,
    match_roles,
    may_rework,
    move,
)
from domain.mail.mailbox import MailboxLabel

STATES, EVENTS = st.sampled_from(EmailState), st.sampled_from(EmailEvent)
FORWARD = {
    (EmailState.PENDING, EmailState.DRAFTED),
    (EmailState.DRAFTED, EmailState.REWORK_REQUESTED),
    (EmailState.REWORK_REQUESTED, EmailState.DRAFTED),
    (EmailState.DRAFTED, EmailState.SENT),
    # The draft's record was lost, or another draft was asked for, and the person has sent the draft all the same.
    (EmailState.PENDING, EmailState.SENT),
    (EmailState.REWORK_REQUESTED, EmailState.SENT),
}


@given(STATES, EVENTS)
def test_every_move_is_one_of_the_specification(state: EmailState, event: EmailEvent) -> None:
    after = move(state, event)
    if after in {None, state, EmailState.ARCHIVED, EmailState.SKIPPED} or event is EmailEvent.REOPENED:
        return
    assert (state, after) in FORWARD


@given(st.lists(EVENTS, max_size=30))
def test_sent_is_reached_only_by_sending_while_an_answer_is_awaited(events: list[EmailEvent]) -> None:
    state = EmailState.PENDING
    for event in events:
        after = move(state, event)
        if after is EmailState.SENT and state is not EmailState.SENT:
            assert event is EmailEvent.DRAFT_SENT
            assert state not in SETTLED
        state = after or state


@pytest.mark.parametrize("state", list(EmailState))
def test_any_state_can_be_archived_and_skipped(state: EmailState) -> None:
    assert move(state, EmailEvent.DONE) is EmailState.ARCHIVED
    assert move(state, EmailEvent.SKIPPED) is EmailState.SKIPPED


def test_every_transition_is_in_the_table() -> None:
    state: EmailState | None = EmailState.PENDING
    for event, expected in (
        (EmailEvent.DRAFT_WRITTEN, EmailState.DRAFTED),
        (EmailEvent.REWORK_ASKED, EmailState.REWORK_REQUESTED),
        (EmailEvent.DRAFT_WRITTEN, EmailState.DRAFTED),
        (EmailEvent.DRAFT_SENT, EmailState.SENT),
    ):
        assert state is not None
        state = move(state, event)
        assert state is expected


@given(EVENTS)
def test_no_plan_adds_what_it_removes(event: EmailEvent) -> None:
    plan = label_plan(event)
    assert not plan.add & plan.remove
    assert plan.archive is (event is EmailEvent.DONE)


def test_a_draft_moves_the_thread_from_needs_response_to_outbox() -> None:
    plan = label_plan(EmailEvent.DRAFT_WRITTEN)
    assert plan.add == {LabelRole.OUTBOX}
    assert plan.remove == {LabelRole.NEEDS_RESPONSE, LabelRole.REWORK, LabelRole.ACTION_REQUIRED}


def test_the_third_rework_is_the_last() -> None:
    assert [may_rework(done) for done in range(5)] == [True, True, True, False, False]
    assert label_plan(EmailEvent.REWORKS_EXHAUSTED).add == {LabelRole.ACTION_REQUIRED}


@given(
    st.sampled_from(LabelRole),
    st.sampled_from(["Postroom", "Büro/Mail"]),
    st.sampled_from([str.upper, str.lower, str.title]),
)
def test_labels_are_matched_whatever_their_case(role: LabelRole, parent: str, case: object) -> None:
    assert callable(case)
    name = str(case(label_name(role, parent))).replace(" ", "  ")
    labels = [MailboxLabel("Label_7", name, "user"), MailboxLabel("Label_8", label_name(role, parent), "user")]
    assert match_roles(labels, parent) == {role: "Label_7"}


def test_foreign_labels_are_not_ours() -> None:
    labels = [
        MailboxLabel("1", "Done", "user"),
        MailboxLabel("2", "Other/Done", "user"),
        MailboxLabel("3", "Postroom", "user"),
        MailboxLabel("4", "Postroom/Done", "system"),
    ]
    assert match_roles(labels) == {}
    assert label_key(" Postroom / DONE ") == "postroom/done"

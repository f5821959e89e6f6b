"""Plans for what a person orders by a label of ours, and the life of an e-mail walked by such plans."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.correspondence import (
    DRAFT_OUT,
    MOST_REWORKS,
    SETTLED,
    EmailEvent,
    EmailState,
    LabelRole,
    label_plan,
    move,
)
from domain.mail.thread_plan import (
    DraftStanding,
    ThreadBefore,
    ThreadPlan,
    plan_by_hand,
    plan_event,
    plan_rework,
)

STANDINGS = st.sampled_from(DraftStanding)
BEFORE = st.builds(ThreadBefore, st.none() | st.sampled_from(EmailState), STANDINGS, st.booleans())
REWORKS = st.integers(0, MOST_REWORKS)
ASK = label_plan(EmailEvent.CLASSIFIED).add
THEIRS = {DraftStanding.EDITED, DraftStanding.UNREAD}


@given(BEFORE, REWORKS)
def test_no_order_touches_a_persons_words(before: ThreadBefore, done: int) -> None:
    by_hand, rework = plan_by_hand(before), plan_rework(before, done)
    assert not by_hand.discard_draft or before.draft is DraftStanding.UNTOUCHED
    assert not rework.discard_draft
    if rework.rewrite_draft:
        assert before.draft in {DraftStanding.UNTOUCHED, DraftStanding.INSTRUCTED}
        assert before.state in DRAFT_OUT
        assert done < MOST_REWORKS


@given(BEFORE)
def test_a_draft_by_hand_is_ordered_unless_there_is_one(before: ThreadBefore) -> None:
    plan = plan_by_hand(before)
    free = before.state not in DRAFT_OUT and before.draft in {DraftStanding.NONE, DraftStanding.UNTOUCHED}
    assert plan.order_draft is free
    if plan.order_draft:
        assert plan.after(before).draft is DraftStanding.NONE
        assert plan.after(before).state is EmailState.PENDING
        assert plan.labels == ThreadPlan("x").labels, "Needs Response stays on until the draft is there"
    elif before.state in DRAFT_OUT:
        assert plan.record is None
        gone = before.draft is DraftStanding.NONE
        assert plan.labels.remove == (frozenset() if gone else ASK)
    else:
        assert plan.labels.add == {LabelRole.ACTION_REQUIRED}
        assert plan.labels.remove >= ASK


@pytest.mark.parametrize("state", [None, *sorted(SETTLED)])
def test_a_record_begins_or_begins_anew_by_hand(state: EmailState | None) -> None:
    assert plan_by_hand(ThreadBefore(state)).record is EmailState.PENDING
    if state is not None:
        assert move(state, EmailEvent.REOPENED) is EmailState.PENDING


@given(BEFORE, REWORKS)
def test_a_rework_is_a_first_draft_where_there_is_none(before: ThreadBefore, done: int) -> None:
    plan = plan_rework(before, done)
    none = before.draft is DraftStanding.NONE
    assert plan.order_draft is (none and before.state not in DRAFT_OUT)
    if none:
        assert plan == ThreadPlan(plan.reason, order_draft=plan.order_draft), "another job knows what to do"
    elif before.state not in DRAFT_OUT:
        assert (plan.record, plan.labels) == (None, label_plan(EmailEvent.REWORKS_EXHAUSTED))


@given(st.sampled_from(sorted(DRAFT_OUT)), STANDINGS.filter(lambda one: one is not DraftStanding.NONE), REWORKS)
def test_a_rework_is_done_refused_or_exhausted(state: EmailState, draft: DraftStanding, done: int) -> None:
    plan = plan_rework(ThreadBefore(state, draft), done)
    if done >= MOST_REWORKS:
        assert plan.after(ThreadBefore(state, draft)) == ThreadBefore(EmailState.SKIPPED, draft)
        assert plan.labels == label_plan(EmailEvent.REWORKS_EXHAUSTED)
    elif draft in THEIRS:
        assert plan.after(ThreadBefore(state, draft)).state is EmailState.DRAFTED
        assert plan.labels == label_plan(EmailEvent.REWORK_REFUSED)
    else:
        assert plan.rewrite_draft
        assert plan.after(ThreadBefore(state, draft)).state is EmailState.REWORK_REQUESTED
    assert not plan.labels.add & plan.labels.remove
    shown = {LabelRole.ACTION_REQUIRED} if not plan.rewrite_draft else set()
    assert plan.labels.add == shown


@given(BEFORE)
def test_whoever_is_done_gets_rid_of_the_machines_draft_only(before: ThreadBefore) -> None:
    plan = plan_event(before, EmailEvent.DONE, "done")
    assert plan.discard_draft is (before.state is not None and before.draft is DraftStanding.UNTOUCHED)
    assert plan.labels.archive


def after_rework(before: ThreadBefore, done: int) -> tuple[ThreadBefore, int]:
    """What a rework leads to when the model answers."""
    plan = plan_rework(before, done)
    planned = plan.after(before)
    if plan.order_draft:
        return by_hand(before), done
    if not plan.rewrite_draft:
        return planned, done
    assert planned.state is not None
    written = plan_event(planned, EmailEvent.DRAFT_WRITTEN, "written").after(planned)
    return replace(written, draft=DraftStanding.UNTOUCHED), done + 1


def by_hand(before: ThreadBefore) -> ThreadBefore:
    """What Needs Response put on by hand leads to."""
    planned = plan_by_hand(before).after(before)
    if not plan_by_hand(before).order_draft:
        return planned
    written = plan_event(planned, EmailEvent.DRAFT_WRITTEN, "written").after(planned)
    return replace(written, draft=DraftStanding.UNTOUCHED)


DEEDS = st.sampled_from(["rework", "by hand", "edit", "instruct", "send", "discard", "done"])
LEADS_TO = {
    "edit": (None, DraftStanding.EDITED),
    "instruct": (None, DraftStanding.INSTRUCTED),
    "send": (EmailEvent.DRAFT_SENT, DraftStanding.NONE),
    "discard": (EmailEvent.SKIPPED, DraftStanding.NONE),
    "done": (EmailEvent.DONE, None),
}
EDGES = {
    (EmailState.PENDING, EmailState.DRAFTED),
    (EmailState.DRAFTED, EmailState.DRAFTED),
    (EmailState.DRAFTED, EmailState.SENT),
    *((state, end) for state in EmailState for end in (EmailState.ARCHIVED, EmailState.SKIPPED)),
    *((state, EmailState.DRAFTED) for state in SETTLED),  # reopened and drafted by one job
}


@given(st.lists(DEEDS, max_size=25))
def test_a_life_has_the_specifications_edges_only_and_loses_no_edit(deeds: list[str]) -> None:
    """Any day of a person with one thread: states move along the table, at most one draft, no edit overwritten."""
    now, reworks = by_hand(ThreadBefore(EmailState.PENDING)), 0
    for deed in deeds:
        before = now
        if deed == "rework":
            now, reworks = after_rework(now, reworks)
        elif deed == "by hand":
            now = by_hand(now)
        elif now.draft is DraftStanding.NONE and deed != "done":
            continue
        else:
            event, draft = LEADS_TO[deed]
            plan = ThreadPlan("nothing") if event is None else plan_event(now, event, deed)
            now = plan.after(now) if draft is None else replace(plan.after(now), draft=draft)
        assert before.state is now.state or (before.state, now.state) in EDGES
        if before.state in SETTLED and now.state in DRAFT_OUT:
            reworks = 0
        if before.draft is DraftStanding.EDITED and deed in {"rework", "by hand", "done"}:
            assert now.draft is DraftStanding.EDITED
        assert reworks <= MOST_REWORKS

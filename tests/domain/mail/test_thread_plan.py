"""Plans for threads: total, the same again from the planned state, and never against a person or for a machine."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.actions.kinds import Danger
from domain.mail.actions.label_actions import Archive, Star
from domain.mail.actions.requested_action import Delete, Forward
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import EmailEvent, EmailState, label_plan, move
from domain.mail.thread_plan import (
    FOR_ITS_PERSON,
    DraftStanding,
    ThreadBefore,
    depends_on_draft,
    plan_event,
    plan_thread,
)
from domain.mail.triage.automation import Automation, replies_allowed
from domain.mail.triage.automation_signals import AutomationKind, Weight
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.safety import SafetyEnforcer

ACTIONS = st.sampled_from([Star(), Archive(), Delete(), Forward(to=("anna@example.com",))])
BEFORE = st.builds(
    ThreadBefore,
    st.none() | st.sampled_from(EmailState),
    st.sampled_from(DraftStanding),
    in_inbox=st.booleans(),
    left_to_person=st.booleans(),
)
DECISIONS = st.builds(
    Decision,
    st.sampled_from(DecisionSource),
    st.sampled_from(Classification),
    st.floats(0, 1),
    st.just("because"),
    needs_reply=st.booleans(),
    needs_review=st.booleans(),
    caution=st.booleans(),
    actions=st.lists(ACTIONS, max_size=4).map(tuple),
)
AUTOMATIONS = st.builds(Automation, st.sampled_from(AutomationKind), st.sampled_from(Weight))
EVENTS = st.sampled_from(EmailEvent)

WANTED = Decision(DecisionSource.LLM, Classification.NEEDS_RESPONSE, 0.9, "asks", needs_reply=True)
HUMAN = Automation(AutomationKind.HUMAN, Weight.NONE)


@given(BEFORE, DECISIONS, AUTOMATIONS)
def test_a_draft_is_ordered_only_where_a_person_waits_for_a_reply(
    before: ThreadBefore, decision: Decision, automation: Automation
) -> None:
    plan = plan_thread(before, decision, automation)
    if plan.order_draft:
        assert decision.wants_draft
        assert replies_allowed(automation)
        assert automation.kind is not AutomationKind.SELF
        assert before.state not in {EmailState.DRAFTED, EmailState.REWORK_REQUESTED}
        assert before.draft in {DraftStanding.NONE, DraftStanding.UNTOUCHED}
        assert before.in_inbox
    assert plan.reason


@given(BEFORE, DECISIONS, AUTOMATIONS)
def test_a_draft_is_ordered_wherever_nothing_speaks_against_it(
    before: ThreadBefore, decision: Decision, automation: Automation
) -> None:
    allowed = replies_allowed(automation) and automation.kind is not AutomationKind.SELF
    free = before.state not in {EmailState.DRAFTED, EmailState.REWORK_REQUESTED}
    ours = before.draft in {DraftStanding.NONE, DraftStanding.UNTOUCHED}
    plan = plan_thread(before, decision, automation)
    assert plan.order_draft is (decision.wants_draft and allowed and free and ours and before.in_inbox)


@given(BEFORE, DECISIONS, AUTOMATIONS, EVENTS)
def test_no_plan_discards_a_persons_words(
    before: ThreadBefore, decision: Decision, automation: Automation, event: EmailEvent
) -> None:
    for plan in (plan_thread(before, decision, automation), plan_event(before, event, "because")):
        assert not plan.discard_draft or before.draft is DraftStanding.UNTOUCHED


@given(BEFORE, DECISIONS, AUTOMATIONS)
def test_there_is_never_a_second_machine_draft(
    before: ThreadBefore, decision: Decision, automation: Automation
) -> None:
    plan = plan_thread(before, decision, automation)
    assert not (plan.order_draft and plan.after(before).draft is not DraftStanding.NONE)


@given(BEFORE, DECISIONS, AUTOMATIONS)
def test_planning_from_the_planned_state_changes_nothing(
    before: ThreadBefore, decision: Decision, automation: Automation
) -> None:
    plan = plan_thread(before, decision, automation)
    planned = plan.after(before)
    again = plan_thread(planned, decision, automation)
    assert again.after(planned) == planned
    assert not again.discard_draft
    assert (again.labels, again.order_draft, again.actions) == (plan.labels, plan.order_draft, plan.actions)


@given(BEFORE, DECISIONS, AUTOMATIONS)
def test_a_plan_shows_on_the_thread_and_in_the_record_what_it_orders(
    before: ThreadBefore, decision: Decision, automation: Automation
) -> None:
    plan = plan_thread(before, decision, automation)
    if plan.order_draft:
        assert plan.labels.add == label_plan(EmailEvent.CLASSIFIED).add
        assert plan.labels.remove == (FOR_ITS_PERSON if before.left_to_person else frozenset())
        assert plan.record is EmailState.PENDING
    else:
        assert not plan.labels.archive
        assert plan.record is (EmailState.SKIPPED if before.state is None else None)


@given(BEFORE, DECISIONS, AUTOMATIONS)
def test_whoever_leaves_a_message_undecided_shows_it_to_its_person(
    before: ThreadBefore, decision: Decision, automation: Automation
) -> None:
    plan = plan_thread(before, decision, automation)
    own = automation.kind is AutomationKind.SELF
    shown = decision.needs_review and not own and before.in_inbox
    assert plan.labels.add >= FOR_ITS_PERSON if shown else not plan.labels.add & FOR_ITS_PERSON
    gone = decision.needs_review and not own and not before.in_inbox
    withdrawn = plan.labels.remove >= FOR_ITS_PERSON
    assert withdrawn is (gone or (before.left_to_person and not shown))
    if not (plan.order_draft or shown or withdrawn):
        assert not plan.labels.add
        assert not plan.labels.remove or not before.in_inbox


@given(BEFORE, DECISIONS, AUTOMATIONS)
def test_every_action_passes_the_safety_enforcer(
    before: ThreadBefore, decision: Decision, automation: Automation
) -> None:
    plan = plan_thread(before, decision, automation)
    assert plan.actions == SafetyEnforcer().check(decision)
    assert [action.action for action in plan.actions] == list(decision.asked)
    dangerous = [action for action in plan.actions if action.danger is Danger.DANGEROUS]
    assert {action.status for action in dangerous} <= {ActionStatus.APPROVED_PENDING}


@given(BEFORE, DECISIONS, AUTOMATIONS)
def test_the_old_draft_is_read_only_when_the_plan_depends_on_it(
    before: ThreadBefore, decision: Decision, automation: Automation
) -> None:
    plans = {
        plan_thread(replace(before, draft=draft), decision, automation)
        for draft in (DraftStanding.UNTOUCHED, DraftStanding.EDITED)
    }
    unread = before.draft is DraftStanding.UNREAD
    assert depends_on_draft(before, decision, automation) is (unread and len(plans) > 1)


@given(BEFORE, EVENTS)
def test_an_event_moves_the_record_as_the_table_says(before: ThreadBefore, event: EmailEvent) -> None:
    plan = plan_event(before, event, "because")
    known = before.state is None or move(before.state, event) is not None
    assert plan.labels == (label_plan(event) if known else type(plan.labels)())
    assert not plan.order_draft
    if before.state is not None:
        assert plan.after(before).state is (move(before.state, event) or before.state)


@given(BEFORE, st.sampled_from([EmailEvent.DONE, EmailEvent.SKIPPED, EmailEvent.REWORKS_EXHAUSTED]))
def test_the_same_event_again_moves_no_record(before: ThreadBefore, event: EmailEvent) -> None:
    planned = plan_event(before, event, "because").after(before)
    assert plan_event(planned, event, "because").record is None


@pytest.mark.parametrize("state", [EmailState.SENT, EmailState.ARCHIVED, EmailState.SKIPPED])
def test_a_draft_that_nobody_waits_for_is_taken_back(state: EmailState) -> None:
    before = ThreadBefore(state, DraftStanding.UNTOUCHED)
    plan = plan_event(before, EmailEvent.DRAFT_WRITTEN, "written")
    assert (plan.discard_draft, plan.record) == (True, None)
    assert not plan_event(
        replace(before, draft=DraftStanding.EDITED), EmailEvent.DRAFT_WRITTEN, "written"
    ).discard_draft


def test_a_question_in_a_settled_thread_replaces_the_untouched_draft() -> None:
    plan = plan_thread(ThreadBefore(EmailState.ARCHIVED, DraftStanding.UNTOUCHED), WANTED, HUMAN)
    assert (plan.discard_draft, plan.order_draft, plan.record) == (True, True, EmailState.PENDING)


@pytest.mark.parametrize("draft", [DraftStanding.EDITED, DraftStanding.UNREAD])
def test_a_draft_that_may_be_a_persons_is_left_alone(draft: DraftStanding) -> None:
    plan = plan_thread(ThreadBefore(EmailState.ARCHIVED, draft), WANTED, HUMAN)
    assert (plan.discard_draft, plan.order_draft, plan.record) == (False, False, None)
    assert plan.reason == "a draft that the person worked on is still there"

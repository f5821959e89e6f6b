from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.actions.label_actions import ApplyLabel, Archive
from domain.mail.actions.requested_action import CLASSES
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.safety import SafetyEnforcer, SafetyPolicy
from tests.domain.mail.actions.any_action import ACTIONS

DECISIONS = st.builds(
    Decision,
    source=st.sampled_from(DecisionSource),
    classification=st.sampled_from(Classification),
    confidence=st.floats(0, 1),
    rationale=st.just("because"),
    needs_review=st.booleans(),
    caution=st.booleans(),
    actions=st.lists(ACTIONS, min_size=1, max_size=4).map(tuple),
)
POLICIES = st.builds(
    SafetyPolicy,
    confidence_floor=st.floats(0, 1),
    always_approve=st.frozensets(st.sampled_from(ActionKind)),
    approve_from=st.sampled_from(Danger),
)


def waiting(policy: SafetyPolicy, decision: Decision) -> list[bool]:
    return [one.status is ActionStatus.APPROVED_PENDING for one in SafetyEnforcer(policy).check(decision)]


@given(
    POLICIES, DECISIONS, st.sampled_from(["caution", "review", "confidence", "floor", "approve", "danger"]), st.data()
)
def test_more_caution_never_frees_an_action(
    policy: SafetyPolicy, decision: Decision, way: str, data: st.DataObject
) -> None:
    stricter, warier = policy, decision
    if way == "caution":
        warier = replace(decision, caution=True)
    elif way == "review":
        warier = replace(decision, needs_review=True)
    elif way == "confidence":
        warier = replace(decision, confidence=data.draw(st.floats(0, decision.confidence)))
    elif way == "floor":
        stricter = replace(policy, confidence_floor=data.draw(st.floats(policy.confidence_floor, 1)))
    elif way == "approve":
        stricter = replace(policy, always_approve=policy.always_approve | {data.draw(st.sampled_from(ActionKind))})
    else:
        stricter = replace(policy, approve_from=Danger.SAFE)
    before, after = waiting(policy, decision), waiting(stricter, warier)
    assert all(now or not then for then, now in zip(before, after, strict=True))


@given(POLICIES, DECISIONS)
def test_dangerous_actions_always_wait_and_waiting_has_a_reason(policy: SafetyPolicy, decision: Decision) -> None:
    for action in SafetyEnforcer(policy).check(decision):
        assert action.danger is not Danger.DANGEROUS or action.status is ActionStatus.APPROVED_PENDING
        assert bool(action.reasons) == (action.status is ActionStatus.APPROVED_PENDING)


@pytest.mark.parametrize("kind", [ActionKind.DELETE, ActionKind.FORWARD, ActionKind.AUTO_REPLY])
def test_what_cannot_be_taken_back_is_dangerous(kind: ActionKind) -> None:
    assert CLASSES[kind].danger is Danger.DANGEROUS


@pytest.mark.parametrize(("confidence", "queued"), [(0.7, True), (0.69, False), (float("nan"), False), (1.0, True)])
def test_the_floor_is_seven_tenths(confidence: float, queued: bool) -> None:
    decision = Decision(DecisionSource.LLM, Classification.FYI, confidence, "", actions=(Archive(),))
    assert (waiting(SafetyPolicy(), decision) == [False]) is queued


def test_a_label_becomes_an_action_and_passes_the_enforcer() -> None:
    labels, actions = ("Label_1", "Label_2"), (Archive(), ApplyLabel(label_id="Label_2"))
    decision = Decision(DecisionSource.LLM, Classification.FYI, 0.9, "", labels=labels, actions=actions)
    checked = SafetyEnforcer().check(decision)
    assert [one.action for one in checked] == [*actions, ApplyLabel(label_id="Label_1")]
    assert waiting(SafetyPolicy(), replace(decision, caution=True)) == [True, True, True]

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.actions.requested_action import ActionKind, RequestedAction
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.safety import ActionStatus, Danger, SafetyEnforcer, SafetyPolicy, danger_of

PARAMETERS: dict[ActionKind, dict[str, Any]] = {
    ActionKind.APPLY_LABEL: {"label_id": "Label_1"},
    ActionKind.REMOVE_LABEL: {"label_id": "Label_1"},
    ActionKind.FORWARD: {"recipient": "a@example.org"},
    ActionKind.AUTO_REPLY: {"text": "thanks"},
    ActionKind.SNOOZE: {"snooze_minutes": 5},
}
ACTIONS = st.sampled_from(list(ActionKind)).map(
    lambda kind: RequestedAction.model_validate({"kind": kind, **PARAMETERS.get(kind, {})})
)
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
    assert danger_of(kind) is Danger.DANGEROUS


@pytest.mark.parametrize(("confidence", "queued"), [(0.7, True), (0.69, False), (float("nan"), False), (1.0, True)])
def test_the_floor_is_seven_tenths(confidence: float, queued: bool) -> None:
    decision = Decision(
        DecisionSource.LLM, Classification.FYI, confidence, "", actions=(RequestedAction(kind=ActionKind.ARCHIVE),)
    )
    assert (waiting(SafetyPolicy(), decision) == [False]) is queued


@pytest.mark.parametrize("kind", list(ActionKind))
def test_an_action_takes_exactly_its_parameter(kind: ActionKind) -> None:
    good = {"kind": kind, **PARAMETERS.get(kind, {})}
    assert RequestedAction.model_validate(good).kind is kind
    for extra in ({"label_id": "x"}, {"recipient": "a@example.org"}, {"text": "x"}, {"snooze_minutes": 1}):
        if not set(extra) <= set(good):
            with pytest.raises(ValueError, match="takes no"):
                RequestedAction.model_validate({**good, **extra})
    if kind in PARAMETERS:
        with pytest.raises(ValueError, match="needs"):
            RequestedAction(kind=kind)

"""The stored policy can add caution, and nothing that is stored takes it from dangerous actions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.actions.requested_action import RequestedAction, parse_action
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.safety import SafetyEnforcer, SafetyPolicy, danger_rank
from domain.mail.triage.safety_policy import DEFAULT_POLICY, effective_policy, parse_policy

DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "confidence_floor": st.floats(0, 1),
        "always_approve": st.lists(st.sampled_from([kind.value for kind in ActionKind]), max_size=5),
        "approve_from": st.sampled_from([danger.value for danger in Danger]),
    },
)
POLICIES = DOCUMENTS.map(lambda document: parse_policy(document).policy())
DANGEROUS: list[dict[str, Any]] = [
    {"kind": "delete"},
    {"kind": "forward", "to": ["a@example.org"]},
    {"kind": "auto_reply", "text": "x"},
]
ACTIONS: list[RequestedAction] = [parse_action(one) for one in (*DANGEROUS, {"kind": "star"}, {"kind": "trash"})]


def decision(confidence: float) -> Decision:
    return Decision(DecisionSource.LLM, Classification.FYI, confidence, "x", actions=tuple(ACTIONS))


@given(DOCUMENTS, st.floats(0, 1))
def test_no_policy_lets_a_dangerous_action_go_by_itself(document: dict[str, Any], confidence: float) -> None:
    checked = SafetyEnforcer(parse_policy(document).policy()).check(decision(confidence))
    dangerous = [one for one in checked if one.danger is Danger.DANGEROUS]
    assert len(dangerous) == len(DANGEROUS)
    assert all(one.status is ActionStatus.APPROVED_PENDING for one in dangerous)


@given(POLICIES, POLICIES, st.floats(0, 1))
def test_an_account_cannot_loosen_its_orgs_policy(account: SafetyPolicy, org: SafetyPolicy, confidence: float) -> None:
    both = SafetyEnforcer(effective_policy(account, org)).check(decision(confidence))
    for alone in (account, org):
        for strict, loose in zip(both, SafetyEnforcer(alone).check(decision(confidence)), strict=True):
            assert strict.status is ActionStatus.APPROVED_PENDING or loose.status is ActionStatus.QUEUED
    assert effective_policy(account, org) == effective_policy(org, account)
    assert danger_rank(effective_policy(account, org).approve_from) <= danger_rank(account.approve_from)


def test_without_a_stored_policy_the_default_holds() -> None:
    assert effective_policy(None, None) == DEFAULT_POLICY == parse_policy({}).policy()


@pytest.mark.parametrize(
    ("field", "document"),
    [
        ("confidence_floor", {"confidence_floor": 1.1}),
        ("confidence_floor", {"confidence_floor": float("nan")}),
        ("confidence_floor", {"confidence_floor": "high"}),
        ("always_approve.0", {"always_approve": ["explode"]}),
        ("approve_from", {"approve_from": "never"}),
        ("approve_from", {"approve_from": None}),
        ("never_approve", {"never_approve": ["delete"]}),
        ("safety", []),
    ],
)
def test_a_bad_policy_is_refused_by_field(field: str, document: object) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_policy(document)
    assert refusal.value.field == field

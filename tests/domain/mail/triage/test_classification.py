from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.actions.kinds import ActionKind
from domain.mail.triage.automation import Automation, detect_automation, replies_allowed
from domain.mail.triage.automation_signals import AutomationKind, Weight
from domain.mail.triage.classification import (
    MODEL_CLASSES,
    Classification,
    Decision,
    DecisionSource,
    accept_answer,
    decide_by_automation,
    needs_review,
    respect_automation,
)
from tests.domain.mail.messages import make_message

LABELS = {"Family": "Label_1", "Work": "Label_2"}
GOOD: dict[str, Any] = {
    "classification": "needs_response",
    "confidence": 0.9,
    "rationale": "She asks for a date.",
    "needs_reply": True,
    "caution": False,
    "labels": ["Family"],
    "actions": ["star"],
}


def test_a_good_answer_becomes_a_decision() -> None:
    decision = accept_answer(GOOD, LABELS)
    assert decision.source is DecisionSource.LLM
    assert decision.classification is Classification.NEEDS_RESPONSE
    assert decision.labels == ("Label_1",)
    assert [action.kind for action in decision.actions] == [ActionKind.STAR]
    assert decision.wants_draft


REFUSED: list[tuple[str, Any]] = [
    ("labels", ["Family", "Nobody"]),
    ("labels", "Family"),
    ("labels", ["Family"] * 6),
    ("labels", ["Label_1"]),
    ("actions", ["forward"]),
    ("actions", ["delete"]),
    ("actions", ["apply_label"]),
    ("actions", [{"kind": "star"}]),
    ("classification", "needs_review"),
    ("classification", "send_money"),
    ("classification", None),
    ("confidence", 1.01),
    ("confidence", -0.01),
    ("confidence", float("nan")),
    ("confidence", "0.9"),
    ("confidence", True),
    ("rationale", ""),
    ("rationale", "x" * 601),
    ("rationale", "\ud800"),
    ("needs_reply", "yes"),
    ("needs_reply", False),
    ("caution", None),
    ("recipient", "thief@example.net"),
    ("tool", "send_mail"),
    ("to", ["thief@example.net"]),
]


@pytest.mark.parametrize(("field", "value"), REFUSED, ids=str)
def test_an_answer_beyond_the_offer_is_refused_by_field(field: str, value: object) -> None:
    with pytest.raises(Invalid) as refusal:
        accept_answer({**GOOD, field: value}, LABELS)
    assert refusal.value.field.startswith(field)
    assert str(value) not in refusal.value.reason or len(str(value)) < 6


@pytest.mark.parametrize("field", ["classification", "confidence", "rationale", "needs_reply", "caution"])
def test_a_missing_field_is_refused(field: str) -> None:
    with pytest.raises(Invalid, match=field):
        accept_answer({key: value for key, value in GOOD.items() if key != field}, LABELS)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "recipient"]) | st.text(), JSON), st.sets(st.sampled_from(list(GOOD))))
def test_whatever_a_model_says_is_refused_or_lies_within_the_offer(noise: dict[str, Any], kept: set[str]) -> None:
    try:
        decision = accept_answer({**noise, **{key: GOOD[key] for key in kept}}, LABELS)
    except Invalid:
        return
    assert decision.classification in MODEL_CLASSES
    assert set(decision.labels) <= set(LABELS.values())
    assert {action.kind for action in decision.actions} <= {ActionKind.ARCHIVE, ActionKind.MARK_READ, ActionKind.STAR}
    assert 0 <= decision.confidence <= 1
    assert "\x00" not in decision.rationale


def test_an_unsure_answer_needs_review_and_no_draft() -> None:
    decision = accept_answer({**GOOD, "confidence": 0.49}, LABELS)
    assert decision.needs_review
    assert not decision.wants_draft


def test_a_refused_answer_falls_to_review() -> None:
    decision = needs_review("labels: names something\x00 that was not offered")
    assert decision.needs_review
    assert decision.classification is Classification.NEEDS_REVIEW
    assert "\x00" not in decision.rationale


@pytest.mark.parametrize("kind", list(AutomationKind))
@pytest.mark.parametrize("weight", list(Weight))
def test_automation_decides_only_when_it_is_sure_and_never_a_draft(kind: AutomationKind, weight: Weight) -> None:
    automation = Automation(kind, weight, ("sign",))
    decision = decide_by_automation(automation)
    if kind in {AutomationKind.HUMAN, AutomationKind.LIST} or weight in {Weight.MEDIUM, Weight.NONE}:
        assert decision is None
        return
    assert decision is not None
    assert not decision.wants_draft
    assert decision.source is DecisionSource.DETERMINISTIC


@pytest.mark.parametrize("weight", list(Weight))
def test_no_path_leads_to_a_reply_to_automated_mail(weight: Weight) -> None:
    automation = Automation(AutomationKind.BULK, weight)
    decision = respect_automation(accept_answer(GOOD, LABELS), automation)
    assert decision.wants_draft is replies_allowed(automation)
    assert decision.labels == ("Label_1",)


def test_a_newsletter_costs_no_model_call() -> None:
    automation = detect_automation(make_message(list_unsubscribe="<https://example.org/u>"))
    decision = decide_by_automation(automation)
    assert isinstance(decision, Decision)
    assert decision.classification is Classification.NEWSLETTER

"""Settings are checked by field, and the classifying model is never offered what sends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.account_settings import MODEL_MAY_ASK, offered_actions, parse_settings
from domain.mail.actions.kinds import SENDING, ActionKind, Danger
from domain.mail.actions.requested_action import CLASSES, parse_action
from domain.mail.triage.classification import OFFERED_ACTIONS, accept_answer

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=9)
    | st.sampled_from([str(kind) for kind in ActionKind]),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=9,
)


@given(ANYTHING)
def test_whatever_is_stored_offers_nothing_that_sends_or_destroys(stored: object) -> None:
    offered = offered_actions(stored)
    assert not SENDING & set(offered)
    assert all(CLASSES[kind].danger is not Danger.DANGEROUS for kind in offered)
    for kind in offered:
        parse_action({"kind": kind})  # takes no parameter, which mail could choose


def test_the_setting_widens_and_narrows_what_the_model_may_ask_for() -> None:
    assert offered_actions(None) == OFFERED_ACTIONS
    assert offered_actions([]) == ()
    assert offered_actions(["trash", "star"]) == (ActionKind.STAR, ActionKind.TRASH)
    answer = {"classification": "fyi", "confidence": 0.9, "rationale": "x", "needs_reply": False, "caution": False}
    decided = accept_answer({**answer, "actions": ["trash"]}, {}, offered_actions(["trash"]))
    assert [one.kind for one in decided.actions] == [ActionKind.TRASH]
    with pytest.raises(Invalid, match="not offered"):
        accept_answer({**answer, "actions": ["trash"]}, {}, offered_actions(None))


def test_what_is_left_out_stays() -> None:
    assert parse_settings({"send_allowed": True}).changes() == {"send_allowed": True}
    everything = {
        "label_parent": "Mail",
        "agent_enabled": False,
        "model_actions": [str(MODEL_MAY_ASK[0])],
    }
    assert parse_settings(everything).changes() == everything


@pytest.mark.parametrize(
    ("field", "document", "reason"),
    [
        ("settings", {}, "names no setting"),
        ("settings", [], ""),
        ("send_allowed", {"send_allowed": "yes"}, ""),
        ("send_allowed", {"send_allowed": 1}, ""),
        ("label_parent", {"label_parent": "a/b"}, "is a label's name of 1 to 100 characters, without slashes"),
        ("label_parent", {"label_parent": ""}, "is a label's name of 1 to 100 characters, without slashes"),
        ("label_parent", {"label_parent": "x" * 101}, "is a label's name of 1 to 100 characters, without slashes"),
        ("label_parent", {"label_parent": "a\nb"}, "is a label's name of 1 to 100 characters, without slashes"),
        ("model_actions", {"model_actions": ["forward"]}, "sends mail"),
        ("model_actions", {"model_actions": ["auto_reply"]}, "sends mail"),
        ("model_actions", {"model_actions": ["delete"]}, "may hold archive"),
        ("model_actions", {"model_actions": "star"}, ""),
        ("surprise", {"surprise": 1}, ""),
    ],
)
def test_a_bad_setting_is_refused_by_field(field: str, document: object, reason: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_settings(document)
    assert refusal.value.field == field
    assert reason in refusal.value.reason

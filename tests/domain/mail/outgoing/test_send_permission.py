"""Who may send what, and when: each pair of an order and its action, as values."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Forbidden, Invalid
from domain.jobs.job import Cancel, Snooze
from domain.mail.actions.kinds import SENDING, ActionKind
from domain.mail.actions.status import MAY_BEGIN, ActionStatus
from domain.mail.outgoing.send_permission import (
    MESSAGE_TYPES,
    ActionFacts,
    check_action,
    check_automatic,
    is_automatic,
    why_stopped,
)
from domain.payloads.outbound import SendPayload
from tests.domain.mail.actions.any_action import NOON

HERE, ACTION = UUID(int=1), UUID(int=2)


def action(**changed: Any) -> ActionFacts:  # noqa: ANN401 - fields of an action
    facts: dict[str, Any] = {
        "account_id": HERE,
        "kind": ActionKind.AUTO_REPLY,
        "message_id": "m1",
        "status": ActionStatus.APPROVED,
        "approver": None,
        "requested_by": None,
    }
    return ActionFacts(**(facts | changed))


def order(message_type: str = "reply", **changed: Any) -> SendPayload:  # noqa: ANN401 - fields of an order
    facts: dict[str, Any] = {
        "account_id": HERE,
        "action_id": ACTION,
        "message_type": message_type,
        "to": ("anna@example.com",),
        "subject": "Lunch?",
        "body_plain": "Noon.",
    }
    if message_type != "new":
        facts["original_message_id"] = "m1"
    return SendPayload(**(facts | changed))


@given(st.sampled_from(ActionKind), st.sampled_from(["new", "reply", "forward"]))
def test_an_action_sends_its_own_kind_of_mail_or_a_new_one(kind: ActionKind, message_type: str) -> None:
    fits = kind in SENDING and message_type in {"new", MESSAGE_TYPES.get(kind)}
    if fits:
        check_action(order(message_type), action(kind=kind))
        return
    with pytest.raises(Invalid) as refused:
        check_action(order(message_type), action(kind=kind))
    assert refused.value.field == ("payload.message_type" if kind in SENDING else "payload.action_id")


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"account_id": UUID(int=9)}, "payload.action_id"), ({"message_id": "m2"}, "payload.original_message_id")],
)
def test_an_order_names_its_own_action_and_message(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_action(order(), action(**changed))
    assert refused.value.field == field


@given(
    st.none() | st.sampled_from(["user: anna", "discord: 42"]),
    st.none() | st.sampled_from(["user:anna", "api_key:7", "rule", "system:beat", "a job"]),
)
def test_only_a_person_or_a_caller_from_outside_makes_a_mail_theirs(approver: str | None, by: str | None) -> None:
    theirs = approver is not None or by in {"user:anna", "api_key:7"}
    assert is_automatic(action(approver=approver, requested_by=by)) is not theirs


def test_an_account_that_does_not_allow_it_sends_nothing_of_itself() -> None:
    with pytest.raises(Forbidden):
        check_automatic(order(), None, (), send_allowed=False)
    with pytest.raises(Forbidden, match="a new mail"):
        check_automatic(order("new"), None, (), send_allowed=True)


@given(st.sampled_from(ActionStatus), st.none() | st.integers(-60, 60))
def test_an_order_goes_on_stops_or_waits_by_its_action(status: ActionStatus, paused: int | None) -> None:
    until = None if paused is None else NOON + timedelta(minutes=paused)
    if status is ActionStatus.APPROVED_PENDING:
        with pytest.raises(Forbidden, match="waits for a person"):
            why_stopped(status, until, NOON)
        return
    found = why_stopped(status, until, NOON)
    if status not in MAY_BEGIN | {ActionStatus.EXECUTING}:
        assert isinstance(found, Cancel), "whatever cannot begin any more ends the order"
    elif until is None:
        assert found is None
    else:
        assert isinstance(found, Snooze)
        assert found.until >= NOON

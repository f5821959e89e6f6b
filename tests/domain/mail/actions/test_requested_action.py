"""Actions as values: each takes its own parameters, is stored with a version, and is read again as it was."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.actions.action import Action
from domain.mail.actions.kinds import SENDING, ActionKind, Danger, Inverse
from domain.mail.actions.label_actions import ApplyLabel
from domain.mail.actions.requested_action import (
    CLASSES,
    VERSION,
    Forward,
    parse_action,
    read_action,
)
from domain.mail.actions.snooze import A_YEAR, Snooze
from domain.mail.outgoing.composing import compose
from domain.mail.outgoing.outgoing_mail import message_bytes
from domain.mail.outgoing.send_orders import ActionContext, send_order
from domain.mail.outgoing.senders import SenderWords
from domain.mail.parsing.mime import parse_message
from domain.payloads.mail_address import Address, address_key
from tests.domain.mail.actions.any_action import ACTIONS, NOON
from tests.domain.mail.messages import make_message

GOOD: dict[ActionKind, dict[str, Any]] = {
    ActionKind.APPLY_LABEL: {"label_id": "Label_1"},
    ActionKind.REMOVE_LABEL: {"label_id": "Label_1"},
    ActionKind.FORWARD: {"to": ["a@example.org"]},
    ActionKind.AUTO_REPLY: {"text": "thanks"},
    ActionKind.SNOOZE: {"amount": 5, "units": "minutes"},
}
REQUESTED = [kind for kind in ActionKind if kind is not ActionKind.UNDO]


@given(ACTIONS)
def test_what_is_stored_is_read_again(action: Action) -> None:
    assert read_action(action.kind, action.parameters, VERSION) == action
    assert parse_action({"kind": str(action.kind), **action.parameters}) == action


@pytest.mark.parametrize("kind", REQUESTED)
def test_an_action_takes_its_own_parameters_only(kind: ActionKind) -> None:
    good = {"kind": kind.value, **GOOD.get(kind, {})}
    assert parse_action(good).kind is kind
    for extra in ({"label_id": "x"}, {"to": ["a@example.org"]}, {"text": "x"}, {"amount": 1}, {"nonsense": 1}):
        if not extra.keys() <= good.keys():
            with pytest.raises(Invalid) as refused:
                parse_action({**good, **extra})
            assert refused.value.field == next(iter(extra))
    if kind in GOOD:
        with pytest.raises(Invalid):
            parse_action({"kind": kind.value})


@pytest.mark.parametrize("field", ["to", "cc"])
@pytest.mark.parametrize(
    "address",
    [
        "a\x00b@example.org",
        "jörg@example.org",
        "a b@example.org",
        "a@b..example",
        "nobody",
        "a@",
        "Ada <a@example.org>",
    ],
)
def test_a_forward_to_whom_no_mail_can_be_sent_is_refused_before_anybody_is_asked(field: str, address: str) -> None:
    document = {"kind": "forward", "to": ["a@example.org"], field: ["b@example.org", address]}
    with pytest.raises(Invalid, match="no address that mail can be sent to") as refused:
        parse_action(document)
    assert refused.value.field == f"{field}.1"


@given(st.emails() | st.text(max_size=30).map("{}@example.org".format))
def test_a_forward_that_is_accepted_can_be_sent(address: str) -> None:
    try:
        action = parse_action({"kind": "forward", "to": [address]})
    except Invalid:
        return
    about = ActionContext(UUID(int=1), UUID(int=2), "18c2f0a1b2c3d4e6", "18c2f0a1b2c3d4e5", make_message())
    assert isinstance(action, Forward)
    order = send_order(action, about, ())
    mail = compose(
        order, about.original, sender=SenderWords(Address("", "me@example.com")), token="token-12345", date=NOON
    )
    assert [one.key for one in parse_message(message_bytes(mail)).to] == [address_key(address)]


def test_every_kind_has_a_class_a_danger_and_an_inverse() -> None:
    assert CLASSES.keys() == set(ActionKind)
    assert len(REQUESTED) == 13
    irreversible = {kind for kind in REQUESTED if CLASSES[kind].inverse is Inverse.NONE}
    assert irreversible == {ActionKind.DELETE} | SENDING
    assert all(CLASSES[kind].danger is Danger.DANGEROUS for kind in irreversible)


def test_the_seeds_name_of_a_label_is_taken() -> None:
    assert parse_action({"kind": "apply_label", "label": "Label_1"}) == ApplyLabel(label_id="Label_1")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kind": "explode"}, "kind"),
    ({"kind": "undo", "original_action_id": "00000000-0000-7000-8000-000000000001"}, "kind"),
    ({}, "kind"),
    ({"kind": "apply_label", "label_id": ""}, "label_id"),
    ({"kind": "apply_label", "label_id": "  "}, "label_id"),
    ({"kind": "remove_label", "label_id": "INBOX"}, "label_id"),
    ({"kind": "apply_label", "label_id": "TRASH"}, "label_id"),
    ({"kind": "apply_label", "label_id": "SPAM"}, "label_id"),
    ({"kind": "apply_label", "label_id": "SENT"}, "label_id"),
    ({"kind": "snooze"}, "parameters"),
    ({"kind": "snooze", "amount": 1}, "parameters"),
    ({"kind": "snooze", "units": "days"}, "parameters"),
    ({"kind": "snooze", "amount": 1, "units": "days", "until": "2026-03-02T12:00:00Z"}, "parameters"),
    ({"kind": "snooze", "amount": 1, "units": "weeks"}, "units"),
    ({"kind": "snooze", "amount": 0, "units": "days"}, "amount"),
    ({"kind": "snooze", "amount": -1, "units": "days"}, "amount"),
    ({"kind": "snooze", "amount": True, "units": "days"}, "amount"),
    ({"kind": "snooze", "amount": "5", "units": "days"}, "amount"),
    ({"kind": "snooze", "amount": 367, "units": "days"}, "parameters"),
    ({"kind": "snooze", "amount": 10**30, "units": "minutes"}, "parameters"),
    ({"kind": "snooze", "until": 5}, "until"),
    ({"kind": "snooze", "until": "tomorrow"}, "until"),
    ({"kind": "snooze", "until": "2026-03-02T12:00:00"}, "until"),
    ({"kind": "forward", "to": []}, "to"),
    ({"kind": "forward", "to": ["a@example.org\nBcc: b@example.org"]}, "to.0"),
    ({"kind": "forward", "to": ["a@example.org"] * 21}, "to"),
    ({"kind": "auto_reply", "text": "x" * 10_001}, "text"),
    ({"kind": "auto_reply", "text": "the key is sk-ant-REDACTED"}, "text"),
]


@pytest.mark.parametrize(("document", "field"), REFUSED)
def test_what_is_refused_names_its_field(document: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_action(document)
    assert refused.value.field == field
    assert refused.value.reason.startswith(f"{field}: ")


@pytest.mark.parametrize("version", [0, VERSION + 1])
def test_a_version_that_nobody_knows_is_refused(version: int) -> None:
    with pytest.raises(Invalid, match="version"):
        read_action(ActionKind.STAR, {}, version)


@pytest.mark.parametrize(
    ("until", "reason"),
    [(NOON, "past"), (NOON - timedelta(seconds=1), "past"), (NOON + timedelta(days=30 * 365), "year")],
)
def test_a_snooze_wakes_within_a_year(until: Any, reason: str) -> None:  # noqa: ANN401 - a parameter of the test
    with pytest.raises(Invalid, match=reason) as refused:
        Snooze(until=until).wakes_at(NOON)
    assert refused.value.field == "until"


@given(st.integers(1, 366 * 24 * 60), st.sampled_from(["minutes", "hours", "days"]))
def test_an_amount_is_counted_from_now(amount: int, units: Any) -> None:  # noqa: ANN401 - a literal
    if timedelta(**{units: amount}) > A_YEAR:
        with pytest.raises(ValueError, match="year"):
            Snooze(amount=amount, units=units)
    else:
        assert Snooze(amount=amount, units=units).wakes_at(NOON) == NOON + timedelta(**{units: amount})

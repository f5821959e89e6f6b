"""Conditions written back in the words that people read and write."""

from collections.abc import Callable
from typing import Any

from domain.mail.triage.conditions import (
    Age,
    All,
    AnyOf,
    Automated,
    Condition,
    FirstContact,
    HasAttachment,
    HasMyReply,
    Label,
    Not,
    Recipient,
    Sender,
    SenderDomain,
    Size,
)
from domain.mail.triage.text_conditions import Body, Header, Subject

Document = dict[str, Any]


def write_condition(condition: Condition) -> Document:
    """The condition as a document with one key."""
    return _WRITERS[type(condition)](condition)


def _sender(condition: Sender) -> Document:
    return {"from": _one_or_all(condition.addresses)}


def _domain(condition: SenderDomain) -> Document:
    names = _one_or_all(condition.domains)
    return {"domain": {"names": names, "subdomains": True} if condition.subdomains else names}


def _recipient(condition: Recipient) -> Document:
    word = "recipient" if condition.position == "any" else condition.position
    return {word: _one_or_all(condition.addresses)}


def _text_in(condition: Subject | Body) -> str | Document:
    ways = _compared(condition)
    return str(ways["contains"]) if list(ways) == ["contains"] else ways


def _compared(condition: Subject | Body | Header) -> Document:
    ways = {"equals": condition.equals, "contains": condition.contains, "matches": condition.pattern}
    return {word: value for word, value in ways.items() if value is not None}


def _size(condition: Size) -> Document:
    given = {"over": condition.over if condition.over >= 0 else None, "under": condition.under}
    return {"size": {word: value for word, value in given.items() if value is not None} or {"over": 0}}


def _attachment(condition: HasAttachment) -> Document:
    given = {"type": condition.content_type, "ending": condition.ending}
    return {"attachment": {word: value for word, value in given.items() if value is not None} or True}


def _automated(condition: Automated) -> Document:
    return {"automated": _one_or_all([kind.value for kind in condition.kinds]) if condition.kinds else True}


def _age(condition: Age) -> Document:
    given = {"over": condition.over_hours, "under": condition.under_hours}
    written = {word: f"{value!r} hours" for word, value in given.items() if value is not None}
    return {"age": written or {"over": "0 hours"}}


def _one_or_all(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


_WRITERS: dict[type[Any], Callable[[Any], Document]] = {
    Sender: _sender,
    SenderDomain: _domain,
    Recipient: _recipient,
    Subject: lambda one: {"subject": _text_in(one)},
    Body: lambda one: {"body": _text_in(one)},
    Header: lambda one: {"header": {"name": one.name, **_compared(one)}},
    Label: lambda one: {"label": one.label_id},
    Size: _size,
    HasAttachment: _attachment,
    Automated: _automated,
    Age: _age,
    FirstContact: lambda _: {"first_contact": True},
    HasMyReply: lambda _: {"has_my_reply": True},
    All: lambda one: {"all": [write_condition(inner) for inner in one.conditions]},
    AnyOf: lambda one: {"any": [write_condition(inner) for inner in one.conditions]},
    Not: lambda one: {"not": write_condition(one.condition)},
}

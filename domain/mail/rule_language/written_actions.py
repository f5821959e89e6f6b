"""The words of actions: a kind alone, or a kind with its parameters (docs: rule-language.md#actions)."""

import re
from typing import Annotated

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    TypeAdapter,
    ValidationInfo,
    WithJsonSchema,
)

from domain.documents.faults import Fault
from domain.documents.language import AS_TEXT, OneOrMany, Words, refused
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.mail.actions.action import Action
from domain.mail.actions.requested_action import KINDS, Forward, RequestedAction
from domain.mail.actions.snooze import Snooze
from domain.mail.rule_language.rule_context import RuleContext
from domain.mail.rule_language.values import Address, Addresses, LabelName, context_of

_DELAY = r"^\s*([0-9]{1,9})\s*(minute|hour|day|week)s?\s*$"
_A_WEEK = 7
_REQUESTED: TypeAdapter[RequestedAction] = TypeAdapter(RequestedAction)

Said = Annotated[str, AS_TEXT]


def _delay(value: object) -> JsonObject:
    match = re.fullmatch(_DELAY, value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a delay such as 90 minutes, 3 hours or 2 days, or {until: a time with its zone}")
    amount, unit = int(match[1]), match[2]
    return {"amount": amount * _A_WEEK, "units": "days"} if unit == "week" else {"amount": amount, "units": f"{unit}s"}


class Until(Words):
    """A time, in RFC 3339 with its zone."""

    until: Said


class Forwarding(Words):
    """To whom a message is sent on, with a note above it."""

    short = "to"
    to: Addresses
    cc: Annotated[list[Address], Field(min_length=1), OneOrMany()] | None = None
    note: Said | None = None


Delay = Annotated[JsonObject, BeforeValidator(_delay), WithJsonSchema({"type": "string", "pattern": _DELAY})]
Sleep = Annotated[
    Annotated[Delay, Tag("<delay>")] | Annotated[Until, Tag("<words>")],
    Discriminator(lambda value: "<words>" if isinstance(value, dict | Until) else "<delay>"),
]


class ActionWords(Words):
    """One action with its parameters, whose meaning the action's own class checks."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    apply_label: LabelName | None = None
    remove_label: LabelName | None = None
    forward: Forwarding | None = None
    auto_reply: Said | None = None
    snooze: Sleep | None = None

    def action(self) -> RequestedAction:
        """The action; raises pydantic's `ValidationError`."""
        ((kind, given),) = ((name, value) for name, value in self if value is not None)
        match given:
            case Words():
                fields = {name: value for name, value in given if value is not None}
            case dict():
                fields = given
            case _:
                fields = {"text" if kind == "auto_reply" else "label_id": given}
        return _REQUESTED.validate_python({"kind": kind, **fields})


_WITH_WORDS = ActionWords.words


def _read(value: object, info: ValidationInfo) -> RequestedAction:
    if isinstance(value, Action):
        return value  # type: ignore[return-value]  # only a rule's own is given here
    if not isinstance(value, dict):
        return _of_word(value)
    if len(value) != 1:
        raise ValueError("must be one action, such as star or {apply_label: Receipts}")
    (kind,) = value
    if kind not in KINDS:
        raise refused(Fault((kind,), f"is no action; known are {', '.join(KINDS)}", of_key=True))
    if kind not in _WITH_WORDS:
        raise refused(Fault((kind,), "takes no parameter"))
    action, context = ActionWords.model_validate(value, context=info.context).action(), context_of(info)
    if context is not None:
        _check(action, context)
    return action


def _of_word(word: object) -> RequestedAction:
    if word not in KINDS:
        raise ValueError(f"must be one of {', '.join(KINDS)}")
    if word in _WITH_WORDS:
        raise ValueError(f"needs its parameter: {{{word}: …}}")
    return _REQUESTED.validate_python({"kind": word})


def _check(action: RequestedAction, context: RuleContext) -> None:
    """Refuse what its class cannot know: a time in the past, a forward that comes back."""
    if isinstance(action, Snooze) and context.now is not None:
        try:
            action.wakes_at(context.now)
        except Invalid as refusal:
            raise refused(Fault(("snooze", "until"), refusal.reason.partition(": ")[2])) from None
    if isinstance(action, Forward):
        own = context.own_among((*action.to, *action.cc))
        if own is not None:
            raise refused(Fault(("forward",), f"comes back to the rule: {own} is a mailbox whose mail it sees"))


def _written(action: Action) -> str | JsonObject:
    kind = action.kind.value
    if kind not in _WITH_WORDS:
        return kind
    given = action.parameters
    if isinstance(action, Snooze) and action.until is None:
        return {kind: f"{action.amount} {action.units}"}
    if isinstance(action, Forward):
        return {kind: Forwarding(**given).model_dump(exclude_defaults=True)}
    return {kind: given if isinstance(action, Snooze) else next(iter(given.values()))}


Plain = Annotated[str, WithJsonSchema({"enum": [kind for kind in KINDS if kind not in _WITH_WORDS]})]
WrittenAction = Annotated[
    RequestedAction, PlainValidator(_read, json_schema_input_type=Plain | ActionWords), PlainSerializer(_written)
]
"""An action of a rule."""

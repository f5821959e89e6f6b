"""The words of actions: a kind alone, or a kind with its parameters (docs: rule-language.md#actions)."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from domain.documents.paths import Path
from domain.jobs.failures import Invalid
from domain.mail.actions.action import Action
from domain.mail.actions.label_actions import ApplyLabel, RemoveLabel
from domain.mail.actions.requested_action import KINDS, AutoReply, Forward, RequestedAction, parse_action
from domain.mail.actions.snooze import Snooze
from domain.mail.rule_language.defects import Defects, defect
from domain.mail.rule_language.rule_context import UNCHECKED, RuleContext
from domain.mail.rule_language.values import addresses, label, mapping, one_of, text
from domain.mail.triage.rules import MOST_ACTIONS

Parameters = tuple[dict[str, Any], Path]
"""Parameters as the domain takes them, and where a mistake in them stands."""

_DELAY = re.compile(r"(?P<amount>[0-9]{1,9})\s*(?P<unit>minute|hour|day|week)s?")
_A_WEEK = 7


def read_actions(value: object, path: Path, context: RuleContext = UNCHECKED) -> list[RequestedAction]:
    """A list of actions."""
    if not isinstance(value, list):
        raise defect(path, "must be a list of actions")
    if len(value) > MOST_ACTIONS:
        raise defect(path, f"has more than {MOST_ACTIONS} actions")
    defects = Defects()
    read = [defects.attempt(partial(_read, one, (*path, place), context)) for place, one in enumerate(value)]
    defects.check()
    return [one for one in read if one is not None]


def write_action(action: Action) -> str | dict[str, Any]:
    """An action as it is written."""
    kind = action.kind.value
    return {kind: _parameters_of(action)} if kind in _PARAMETERS else kind


def _parameters_of(action: Action) -> object:
    match action:
        case ApplyLabel() | RemoveLabel():
            return action.label_id
        case AutoReply():
            return action.text
        case Snooze():
            return {"until": action.until.isoformat()} if action.until else f"{action.amount} {action.units}"
        case Forward():
            given = {"to": list(action.to), "cc": list(action.cc) or None, "note": action.note}
            return {word: value for word, value in given.items() if value is not None}
    raise TypeError(f"{type(action).__name__} has no words")


def _read(value: object, path: Path, context: RuleContext) -> RequestedAction:
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise defect(path, "must be one action, such as star or {apply_label: Receipts}")
        ((kind, given),) = value.items()
        place = (*path, str(kind))
        if kind not in KINDS:
            raise defect(place, f"is no action; known are {', '.join(KINDS)}", of_key=True)
        if kind not in _PARAMETERS:
            raise defect(place, "takes no parameter")
        parameters, place = _PARAMETERS[kind](given, place)
        if "label_id" in parameters:
            parameters["label_id"] = context.labels.id_of(parameters["label_id"], place)
        return _checked(_made({"kind": kind, **parameters}, place), place, context)
    kind = one_of(value, path, KINDS)
    if kind in _PARAMETERS:
        raise defect(path, f"needs its parameter: {{{kind}: …}}")
    return _made({"kind": kind}, path)


def _made(document: dict[str, Any], path: Path) -> RequestedAction:
    try:
        return parse_action(document)
    except Invalid as refusal:
        reason = refusal.reason.partition(": ")[2] or refusal.reason
        raise defect(path, reason) from None


def _checked(action: RequestedAction, path: Path, context: RuleContext) -> RequestedAction:
    """What its class cannot know: a time in the past, a forward that comes back."""
    if isinstance(action, Snooze) and context.now is not None:
        try:
            action.wakes_at(context.now)
        except Invalid as refusal:
            raise defect(path, refusal.reason.partition(": ")[2]) from None
    if isinstance(action, Forward):
        own = context.own_among((*action.to, *action.cc))
        if own is not None:
            raise defect(path, f"comes back to the rule: {own} is a mailbox whose mail it sees")
    return action


def _label(value: object, path: Path) -> Parameters:
    return {"label_id": label(value, path)}, path


def _answer(value: object, path: Path) -> Parameters:
    return {"text": text(value, path)}, path


def _forward(value: object, path: Path) -> Parameters:
    if not isinstance(value, Mapping):
        return {"to": addresses(value, path)}, path
    given = mapping(value, path, ("to", "cc", "note"))
    fields: dict[str, Any] = {}
    for word in ("to", "cc"):
        if word in given or word == "to":
            fields[word] = addresses(given.get(word), (*path, word))
    if "note" in given:
        fields["note"] = text(given["note"], (*path, "note"))
    return fields, path


def _snooze(value: object, path: Path) -> Parameters:
    if isinstance(value, Mapping):
        until = mapping(value, path, ("until",)).get("until")
        return {"until": text(until, (*path, "until"))}, (*path, "until")
    match = _DELAY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise defect(path, "must be a delay such as 90 minutes, 3 hours or 2 days, or {until: a time with its zone}")
    amount, unit = int(match["amount"]), match["unit"]
    if unit == "week":
        amount, unit = amount * _A_WEEK, "day"
    return {"amount": amount, "units": f"{unit}s"}, path


_PARAMETERS: Mapping[str, Callable[[object, Path], Parameters]] = {
    "apply_label": _label,
    "remove_label": _label,
    "forward": _forward,
    "auto_reply": _answer,
    "snooze": _snooze,
}

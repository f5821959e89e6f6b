"""The words of actions: a kind alone, or a kind with its one parameter (docs: rule-language.md#actions)."""

from collections.abc import Callable, Mapping
from typing import Any

from domain.mail.actions.requested_action import ActionKind, RequestedAction
from domain.mail.rule_language.label_names import AS_GIVEN, LabelNames
from domain.mail.rule_language.misfits import Misfits, Path, misfit
from domain.mail.rule_language.values import label, made, minutes, one_of, text
from domain.mail.triage.rules import MOST_ACTIONS

_KINDS = tuple(kind.value for kind in ActionKind)
_PARAMETERS: Mapping[str, tuple[str, Callable[[object, Path], object]]] = {
    "apply_label": ("label_id", label),
    "remove_label": ("label_id", label),
    "forward": ("recipient", text),
    "auto_reply": ("text", text),
    "snooze": ("snooze_minutes", minutes),
}


def read_actions(value: object, path: Path, labels: LabelNames = AS_GIVEN) -> list[RequestedAction]:
    """A list of actions."""
    if not isinstance(value, list):
        raise misfit(path, "must be a list of actions")
    if len(value) > MOST_ACTIONS:
        raise misfit(path, f"has more than {MOST_ACTIONS} actions")
    misfits = Misfits()
    read = [
        misfits.attempt(lambda place=place, one=one: _read(one, (*path, place), labels))  # type: ignore[misc]
        for place, one in enumerate(value)
    ]
    misfits.check()
    return [one for one in read if one is not None]


def write_action(action: RequestedAction) -> str | dict[str, Any]:
    """An action as it is written."""
    kind = action.kind.value
    if kind not in _PARAMETERS:
        return kind
    value = getattr(action, _PARAMETERS[kind][0])
    return {kind: f"{value} minutes" if kind == "snooze" else value}


def _read(value: object, path: Path, labels: LabelNames) -> RequestedAction:
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise misfit(path, "must be one action, such as star or {apply_label: Receipts}")
        ((kind, parameter),) = value.items()
        if kind not in _KINDS:
            raise misfit((*path, str(kind)), f"is no action; known are {', '.join(_KINDS)}", "key")
        if kind not in _PARAMETERS:
            raise misfit((*path, kind), "takes no parameter")
        name, read = _PARAMETERS[kind]
        place = (*path, kind)
        given = read(parameter, place)
        if name == "label_id":
            given = labels.id_of(str(given), place)
        return made(RequestedAction, {"kind": kind, name: given}, place, {name: place})
    kind = one_of(value, path, _KINDS)
    if kind in _PARAMETERS:
        raise misfit(path, f"needs its parameter: {{{kind}: …}}")
    return made(RequestedAction, {"kind": kind}, path)

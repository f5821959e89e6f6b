"""The words of conditions: how each is written, read and written back (docs: rule-language.md#conditions)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from domain.documents.paths import Path
from domain.jobs.failures import Invalid
from domain.mail.rule_language.defects import Defects, defect
from domain.mail.rule_language.label_names import AS_GIVEN, LabelNames
from domain.mail.rule_language.values import (
    addresses,
    bytes_of,
    domains,
    hours,
    label,
    made,
    mapping,
    one_of,
    text,
    truth,
)
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.conditions import (
    MOST_CHILDREN,
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
from domain.mail.triage.rules import DEEPEST_CONDITION, MOST_CONDITIONS
from domain.mail.triage.safe_pattern import check_boundaries, compiled, matches_everything
from domain.mail.triage.text_conditions import Body, FrozenCondition, Header, Subject
from domain.spelling.normal_form import normal_pattern

_COMPARED = {"equals": "equals", "contains": "contains", "matches": "pattern"}


@dataclass(slots=True)
class ConditionReader:
    """Reads one rule's conditions, and counts them."""

    labels: LabelNames = AS_GIVEN
    count: int = 0

    def read(self, value: object, path: Path, depth: int = 1) -> Condition:
        """A condition: one word, or several words that must all hold."""
        words = mapping(value, path, WORDS)
        if not words:
            raise defect(path, f"must name a condition: {', '.join(WORDS)}")
        inner = depth if len(words) == 1 else depth + 1
        if inner > DEEPEST_CONDITION:
            raise defect(path, f"is nested deeper than {DEEPEST_CONDITION} levels")
        defects = Defects()
        read = [defects.attempt(partial(self._word, word, words[word], (*path, word), inner)) for word in words]
        defects.check()
        found = [one for one in read if one is not None]
        return found[0] if len(found) == 1 else self._group(All, "all", found, path)

    def _word(self, word: str, value: object, path: Path, depth: int) -> Condition:
        self.count += 1
        if self.count > MOST_CONDITIONS:
            raise defect(path, f"is one of more than {MOST_CONDITIONS} conditions")
        if word == "not":
            return Not(kind="not", condition=self.read(value, path, depth + 1))
        if word in _GROUPS:
            return self._group(_GROUPS[word], word, self._children(value, path, depth + 1), path)
        if word == "label":
            return Label(kind="label", label_id=self.labels.id_of(label(value, path), path))
        leaf: Condition = _LEAVES[word](value, path)
        if isinstance(leaf, (Subject, Body, Header)) and leaf.pattern is not None:
            _check_pattern(leaf.pattern, (*path, "matches"), has_lines=isinstance(leaf, Body))
        return leaf

    def _children(self, value: object, path: Path, depth: int) -> list[Condition]:
        if not isinstance(value, list) or not value:
            raise defect(path, "must be a list of conditions")
        if len(value) > MOST_CHILDREN:
            raise defect(path, f"has more than {MOST_CHILDREN} conditions")
        defects = Defects()
        read = [defects.attempt(partial(self.read, one, (*path, place), depth)) for place, one in enumerate(value)]
        defects.check()
        return [one for one in read if one is not None]

    @staticmethod
    def _group(kind: type[All] | type[AnyOf], word: str, conditions: list[Condition], path: Path) -> Condition:
        return made(kind, {"kind": word, "conditions": conditions}, path)


def _check_pattern(pattern: str, path: Path, *, has_lines: bool) -> None:
    try:
        check_boundaries(pattern)
        compiled(normal_pattern(pattern))
        finds_all = matches_everything(normal_pattern(pattern), has_lines=has_lines)
    except Invalid as refused:
        raise defect(path, refused.reason.partition(": ")[2]) from None
    if finds_all:
        raise defect(path, "matches every text: leave it out")


def _sender(value: object, path: Path) -> FrozenCondition:
    return made(Sender, {"kind": "sender", "addresses": addresses(value, path)}, path, {"addresses": path})


def _domain(value: object, path: Path) -> FrozenCondition:
    names, subdomains, place = value, False, path
    if isinstance(value, Mapping):
        given = mapping(value, path, ("names", "subdomains"))
        place = (*path, "names")
        names = given.get("names")
        subdomains = truth(given.get("subdomains", False), (*path, "subdomains"))
    fields = {"kind": "domain", "domains": domains(names, place), "subdomains": subdomains}
    return made(SenderDomain, fields, path, {"domains": place})


def _recipient(position: Literal["to", "cc", "any"]) -> Callable[[object, Path], FrozenCondition]:
    def read(value: object, path: Path) -> FrozenCondition:
        fields = {"kind": "recipient", "addresses": addresses(value, path), "position": position}
        return made(Recipient, fields, path, {"addresses": path})

    return read


def _compared(given: Mapping[str, object], path: Path) -> tuple[dict[str, object], dict[str, Path]]:
    """How a text is compared, and where each way stands."""
    fields: dict[str, object] = {}
    places: dict[str, Path] = {}
    for word, name in _COMPARED.items():
        if word in given:
            places[name] = (*path, word)
            fields[name] = text(given[word], places[name])
    if len(fields) > 1:
        raise defect(path, "takes only one of equals, contains and matches")
    return fields, places


def _text_in(kind: type[Subject] | type[Body], name: str) -> Callable[[object, Path], FrozenCondition]:
    def read(value: object, path: Path) -> FrozenCondition:
        if isinstance(value, Mapping):
            fields, places = _compared(mapping(value, path, _COMPARED), path)
        else:
            fields, places = {"contains": text(value, path)}, {"contains": path}
        return made(kind, {"kind": name, **fields}, path, places)

    return read


def _header(value: object, path: Path) -> FrozenCondition:
    given = mapping(value, path, ("name", *_COMPARED))
    if "name" not in given:
        raise defect(path, "needs the name of the header")
    fields, places = _compared(given, path)
    places["name"] = (*path, "name")
    fields["name"] = text(given["name"], places["name"])
    return made(Header, {"kind": "header", **fields}, path, places)


def _between(
    value: object, path: Path, read: Callable[[object, Path], object], names: tuple[str, str]
) -> dict[str, Any]:
    given = mapping(value, path, ("over", "under"))
    if not given:
        raise defect(path, "needs over, under, or both")
    words = dict(zip(("over", "under"), names, strict=True))
    bounds: dict[str, Any] = {word: read(one, (*path, word)) for word, one in given.items()}
    for word, bound in bounds.items():
        if bound == 0:
            raise defect((*path, word), "is nothing: every message is over it, and none is under it")
    if len(bounds) > 1 and bounds["over"] >= bounds["under"]:
        raise defect(path, "holds for no message: over must be less than under")
    return {words[word]: bound for word, bound in bounds.items()}


def _size(value: object, path: Path) -> FrozenCondition:
    fields = _between(value, path, bytes_of, ("over", "under"))
    return made(Size, {"kind": "size", **fields}, path, {name: (*path, name) for name in fields})


def _age(value: object, path: Path) -> FrozenCondition:
    fields = _between(value, path, hours, ("over_hours", "under_hours"))
    places = {"over_hours": (*path, "over"), "under_hours": (*path, "under")}
    return made(Age, {"kind": "age", **fields}, path, places)


def _attachment(value: object, path: Path) -> FrozenCondition:
    if isinstance(value, bool):
        return _unless_false(HasAttachment(kind="attachment"), holds=value)
    given = mapping(value, path, ("type", "ending"))
    names = {"type": "content_type", "ending": "ending"}
    fields = {names[word]: text(one, (*path, word)) for word, one in given.items()}
    return made(HasAttachment, {"kind": "attachment", **fields}, path, {names[word]: (*path, word) for word in given})


def _automated(value: object, path: Path) -> FrozenCondition:
    if isinstance(value, bool):
        return _unless_false(Automated(kind="automated"), holds=value)
    several = value if isinstance(value, list) else [value]
    if not several:
        raise defect(path, "must not be an empty list")
    words = [
        one_of(one, (*path, place) if isinstance(value, list) else path, [kind.value for kind in AutomationKind])
        for place, one in enumerate(several)
    ]
    return made(Automated, {"kind": "automated", "kinds": words}, path, {"kinds": path})


def _first_contact(value: object, path: Path) -> FrozenCondition:
    return _unless_false(FirstContact(kind="first_contact"), holds=truth(value, path))


def _has_my_reply(value: object, path: Path) -> FrozenCondition:
    return _unless_false(HasMyReply(kind="has_my_reply"), holds=truth(value, path))


def _unless_false(condition: Condition, *, holds: bool) -> FrozenCondition:
    return condition if holds else Not(kind="not", condition=condition)


_GROUPS: dict[str, type[All] | type[AnyOf]] = {"all": All, "any": AnyOf}
_LEAVES: dict[str, Callable[[object, Path], Any]] = {
    "from": _sender,
    "domain": _domain,
    "to": _recipient("to"),
    "cc": _recipient("cc"),
    "recipient": _recipient("any"),
    "subject": _text_in(Subject, "subject"),
    "body": _text_in(Body, "body"),
    "header": _header,
    "label": label,
    "size": _size,
    "attachment": _attachment,
    "automated": _automated,
    "age": _age,
    "first_contact": _first_contact,
    "has_my_reply": _has_my_reply,
}
WORDS: tuple[str, ...] = (*_LEAVES, *_GROUPS, "not")
"""Every word that a condition may begin with."""

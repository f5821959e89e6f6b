"""Rules as files and as JSON documents: one rule, a list of rules, or `rules:` with a list."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import yaml

from domain.mail.rule_language.defects import MOST_SHOWN, Defect, DefectError, Defects, RefusedRules, as_field, defect
from domain.mail.rule_language.rule_context import UNCHECKED, RuleContext
from domain.mail.rule_language.rule_words import WrittenRule, read_rule
from domain.yaml_source import Path, UnreadableYaml, as_pointer, read_yaml

MOST_RULES_AT_ONCE = 500
MOST_PATTERNS_AT_ONCE = 500
"""Patterns of a document: each is compiled, which takes 2 ms at most, and tried on a text for each of its letters."""
PATTERN_WORD = "matches"
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but for tab and line feed, and halves of surrogate pairs."""

Read = TypeVar("Read")


def read_rule_file(data: bytes, name: str, context: RuleContext = UNCHECKED) -> tuple[WrittenRule, ...]:
    """The rules of a YAML file; each mistake names file, line, column, field and reason. Raises `RefusedRules`.

    With an account's labels in the context, labels may be given by name, and only those may be named.
    """
    try:
        source = read_yaml(data)
    except UnreadableYaml as error:
        where = f"{name}:{error.mark.line}:{error.mark.column}"
        field = as_field(error.path)
        raise RefusedRules(field, f"{where}: {error.reason}", [f"{where}: {field}: {error.reason}"]) from None

    def line(one: Defect) -> tuple[str, str]:
        mark = source.mark(one.path, key=one.about == "key")
        return as_field(one.path), f"{name}:{mark.line}:{mark.column}"

    return _all_or_nothing(lambda: _read(source.value, context), line)


def read_rule_document(value: object, context: RuleContext = UNCHECKED) -> tuple[WrittenRule, ...]:
    """The rules of a JSON document; each mistake names its JSON pointer. Raises `RefusedRules`."""
    return _all_or_nothing(lambda: _read(value, context), lambda one: (as_pointer(one.path), ""))


def write_rule_file(documents: Sequence[Mapping[str, Any]]) -> str:
    """Written rules as a YAML file that reads as the same rules."""
    return yaml.safe_dump({"rules": list(documents)}, sort_keys=False, allow_unicode=True, width=110)


def _all_or_nothing(make: Callable[[], Read], place: Callable[[Defect], tuple[str, str]]) -> Read:
    try:
        return make()
    except DefectError as error:
        told = [(*place(one), one.reason) for one in error.defects[:MOST_SHOWN]]
    lines = [f"{where}: {field}: {reason}".removeprefix(": ") for field, where, reason in told]
    field, where, reason = told[0]
    raise RefusedRules(field, f"{where}: {reason}".removeprefix(": "), lines)


def _read(value: object, context: RuleContext) -> tuple[WrittenRule, ...]:
    _look_through(value)
    items, path = _items(value)
    if not items:
        raise defect(path, "holds no rule")
    if len(items) > MOST_RULES_AT_ONCE:
        raise defect(path, f"holds more than {MOST_RULES_AT_ONCE} rules")
    defects, found = Defects(), []
    for here, one in items:
        rule = defects.attempt(partial(read_rule, one, here, context))
        found.append(rule)
        if len(defects.found) >= MOST_SHOWN:
            break
    defects.check()
    return tuple(rule for rule in found if rule is not None)


def _items(value: object) -> tuple[list[tuple[Path, object]], Path]:
    path: Path = ()
    if isinstance(value, Mapping) and "rules" in value:
        odd = [key for key in value if key != "rules"]
        if odd:
            raise defect((str(odd[0]),), "is not known beside rules", "key")
        value, path = value["rules"], ("rules",)
        if not isinstance(value, list):
            raise defect(path, "must be a list of rules")
    if isinstance(value, list):
        return [((*path, place), one) for place, one in enumerate(value)], path
    return ([] if value is None else [(path, value)]), path


def _look_through(value: object) -> None:
    """Refuse too many patterns, and characters that neither a person sees nor PostgreSQL keeps, before all else."""
    defects, patterns = Defects(), 0
    waiting: list[tuple[Path, object]] = [((), value)]
    while waiting and len(defects.found) < MOST_SHOWN:
        path, one = waiting.pop()
        if isinstance(one, Mapping):
            for key, inner in one.items():
                patterns += key == PATTERN_WORD
                if _UNREADABLE.search(str(key)):
                    defects.add(path, "has a key with a control character")
                waiting.append(((*path, str(key)), inner))
        elif isinstance(one, list):
            waiting.extend(((*path, place), inner) for place, inner in enumerate(one))
        elif isinstance(one, str) and _UNREADABLE.search(one):
            defects.add(path, "holds a control character")
        if patterns > MOST_PATTERNS_AT_ONCE:
            raise defect(path, f"holds one of more than {MOST_PATTERNS_AT_ONCE} patterns")
    defects.check()

"""Rules as files and as JSON documents: one rule, a list of rules, or `rules:` with a list."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import yaml

from domain.documents.faults import Faults, RefusedDocument, read_source
from domain.documents.paths import Path
from domain.documents.yaml_source import YamlSource
from domain.mail.rule_language.defects import MOST_SHOWN, DefectError, Defects, defect
from domain.mail.rule_language.rule_context import UNCHECKED, RuleContext
from domain.mail.rule_language.rule_words import WrittenRule, read_rule

MOST_RULES_AT_ONCE = 500
MOST_PATTERNS_AT_ONCE = 500
"""Patterns of a document: each is compiled, which takes 2 ms at most, and tried on a text for each of its letters."""
PATTERN_WORD = "matches"
WHOLE = "rules"
"""What a refusal calls all of a file."""
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but for tab and line feed, and halves of surrogate pairs."""

Read = TypeVar("Read")


def read_rule_file(data: bytes, name: str, context: RuleContext = UNCHECKED) -> tuple[WrittenRule, ...]:
    """The rules of a YAML file; each mistake names file, line, column, field and reason. Raises `RefusedDocument`.

    With an account's labels in the context, labels may be given by name, and only those may be named.
    """
    source = read_source(data, name, whole=WHOLE)
    return _all_or_nothing(lambda: _read(source.value, context), source, name)


def read_rule_document(value: object, context: RuleContext = UNCHECKED) -> tuple[WrittenRule, ...]:
    """The rules of a JSON document; each mistake names its JSON pointer. Raises `RefusedDocument`."""
    return _all_or_nothing(lambda: _read(value, context))


def write_rule_file(documents: Sequence[Mapping[str, Any]]) -> str:
    """Written rules as a YAML file that reads as the same rules."""
    return yaml.safe_dump({"rules": list(documents)}, sort_keys=False, allow_unicode=True, width=110)


def _all_or_nothing(make: Callable[[], Read], source: YamlSource | None = None, name: str = "") -> Read:
    try:
        return make()
    except DefectError as error:
        faults = Faults(MOST_SHOWN)
        faults.extend(error.defects)
    raise RefusedDocument(faults, source=source, name=name, whole=WHOLE)


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
            raise defect((str(odd[0]),), "is not known beside rules", of_key=True)
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

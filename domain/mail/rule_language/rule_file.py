"""Rules as files and as JSON documents: one rule, a list of rules, or `rules:` with a list."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from domain.documents.faults import Fault, Faults, RefusedDocument, read_source
from domain.documents.paths import Path, values_in
from domain.documents.yaml_source import YamlSource
from domain.mail.rule_language.rule_context import UNCHECKED, RuleContext
from domain.mail.rule_language.rule_words import WrittenRule, read_rule

MOST_SHOWN = 20
"""Nobody mends more mistakes than these before reading the file anew."""
MOST_RULES_AT_ONCE = 500
MOST_PATTERNS_AT_ONCE = 500
"""Patterns of a document: each is compiled, which takes 2 ms at most, and tried on a text for each of its letters."""
PATTERN_WORD = "matches"
WHOLE = "rules"
"""What a refusal calls all of a file."""
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but for tab and line feed, and halves of surrogate pairs."""


def read_rule_file(data: bytes, name: str, context: RuleContext = UNCHECKED) -> tuple[WrittenRule, ...]:
    """The rules of a YAML file; each fault names file, line, column, field and reason. Raises `RefusedDocument`.

    With an account's labels in the context, labels may be given by name, and only those may be named.
    """
    source = read_source(data, name, whole=WHOLE)
    return _read(source.value, context, source, name)


def read_rule_document(value: object, context: RuleContext = UNCHECKED) -> tuple[WrittenRule, ...]:
    """The rules of a JSON document; each fault names its JSON pointer. Raises `RefusedDocument`."""
    return _read(value, context)


def write_rule_file(documents: Sequence[Mapping[str, Any]]) -> str:
    """Written rules as a YAML file that reads as the same rules."""
    return yaml.safe_dump({"rules": list(documents)}, sort_keys=False, allow_unicode=True, width=110)


def _read(
    value: object, context: RuleContext, source: YamlSource | None = None, name: str = ""
) -> tuple[WrittenRule, ...]:
    faults, rules = Faults(MOST_SHOWN), list[WrittenRule]()
    items, path = _items(value)
    if found := _faults_of_all(value, items, path):
        faults.extend(found)
    for here, one in [] if faults else items:
        rule = read_rule(one, here, context)
        if isinstance(rule, list):
            faults.extend(rule)
        else:
            rules.append(rule)
        if faults.more:
            break
    if faults:
        raise RefusedDocument(faults, source=source, name=name, whole=WHOLE)
    return tuple(rules)


def _items(value: object) -> tuple[list[tuple[Path, object]], Path]:
    """The rules of a document, each with its path, and the path of all."""
    path: Path = ()
    if isinstance(value, Mapping) and "rules" in value:
        value, path = value["rules"], ("rules",)
    if isinstance(value, list):
        return [((*path, number), one) for number, one in enumerate(value)], path
    return ([] if value is None or path else [(path, value)]), path


def _faults_of_all(value: object, items: Sequence[object], path: Path) -> list[Fault]:
    """What keeps the rules of a document from being looked at one by one."""
    if found := _look_through(value):
        return found
    if path and isinstance(value, Mapping):
        odd = [Fault((str(key),), "is not known beside rules", of_key=True) for key in value if key != "rules"]
        if odd or not isinstance(value["rules"], list):
            return odd or [Fault(path, "must be a list of rules")]
    if not items:
        return [Fault(path, "holds no rule")]
    if len(items) > MOST_RULES_AT_ONCE:
        return [Fault(path, f"holds more than {MOST_RULES_AT_ONCE} rules")]
    return []


def _look_through(value: object) -> list[Fault]:
    """Refuse too many patterns, and characters that neither a person sees nor PostgreSQL keeps, before all else."""
    found, patterns = list[Fault](), 0
    for path, one in values_in(value):
        word = str(path[-1]) if path else ""
        patterns += word == PATTERN_WORD
        if patterns > MOST_PATTERNS_AT_ONCE:
            return [Fault(path, f"is one of more than {MOST_PATTERNS_AT_ONCE} patterns")]
        if _UNREADABLE.search(word):
            found.append(Fault(path[:-1], "has a key with a control character"))
        if isinstance(one, str) and _UNREADABLE.search(one):
            found.append(Fault(path, "holds a control character"))
        if len(found) >= MOST_SHOWN:
            break
    return found

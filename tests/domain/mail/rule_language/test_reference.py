"""The reference of the language is true: every example reads, every word has a row, every limit is the code's."""

import re
from typing import Any

import pytest

from domain.documents import yaml_source
from domain.documents.yaml_source import read_yaml
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.requested_action import CLASSES, KINDS
from domain.mail.rule_language import rule_file, rules
from domain.mail.rule_language.conditions import DEEPEST_CONDITION, MOST_CHILDREN, MOST_CONDITIONS, Condition
from domain.mail.rule_language.rule_file import read_rule_document, read_rule_file
from storage.mail.rules import kept_rules
from tests.written_pages import DOCS, Page

REFERENCE = Page(DOCS / "reference" / "rule-language.md")
HOW_TO = Page(DOCS / "howto" / "write-a-rule.md")
SPAN = re.compile(r"`([^`]+)`")


def section(title: str) -> str:
    return REFERENCE.text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[tuple[list[str], list[str]]]:
    """The spans of the first cell and of the last, of each row of a section's table."""
    lines = [line for line in section(title).splitlines() if line.startswith("| `")]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in lines]
    return [(SPAN.findall(one[0]), SPAN.findall(one[-1])) for one in cells]


CONDITIONS = rows("Conditions")
ACTIONS = rows("Actions")
EXAMPLES = [example for _, examples in CONDITIONS for example in examples]
ACTION_EXAMPLES = [example for _, examples in ACTIONS for example in examples]


def read(text: str) -> Any:  # noqa: ANN401 - whatever the text says
    return read_yaml(text.encode()).value


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_condition_in_the_table_reads(example: str) -> None:
    (found,) = read_rule_document({"name": "x", "when": read(example), "then": {"class": "fyi"}})
    assert isinstance(found, rules.Rule)


@pytest.mark.parametrize("example", ACTION_EXAMPLES)
def test_every_action_in_the_table_reads(example: str) -> None:
    (found,) = read_rule_document({"name": "x", "when": {"subject": "x"}, "then": {"actions": [read(example)]}})
    assert isinstance(found, rules.Rule)


def test_every_word_has_a_row_and_an_example() -> None:
    assert [word for words, _ in CONDITIONS for word in words] == list(Condition.words.values())
    assert all(examples for _, examples in CONDITIONS)
    assert {word for words, _ in ACTIONS for word in words} == set(KINDS)


def test_the_dangers_in_the_table_are_the_codes() -> None:
    for line in section("Actions").splitlines():
        if line.startswith("| `"):
            words, danger = line.strip("| ").split(" | ")[:2]
            for kind in SPAN.findall(words):
                assert CLASSES[ActionKind(kind)].danger == danger, kind


@pytest.mark.parametrize("page", [REFERENCE, HOW_TO], ids=lambda page: page.name)
def test_the_files_in_the_pages_read(page: Page) -> None:
    blocks = page.code("yaml")
    assert blocks
    for block in blocks:
        assert read_rule_file(block.encode(), page.name)


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("bytes of a file", f"{yaml_source.LONGEST_SOURCE:,}"),
        ("levels of nesting in the file", yaml_source.DEEPEST_VALUE),
        ("values in the file, aliases counted as what they stand for", f"{yaml_source.MOST_VALUES:,}"),
        ("aliases", yaml_source.MOST_ALIASES),
        ("rules in a file", rule_file.MOST_RULES_AT_ONCE),
        ("levels of conditions", DEEPEST_CONDITION),
        ("conditions of a rule", f"{MOST_CONDITIONS}, and {MOST_CHILDREN} in one list"),
        ("actions of a rule", rules.MOST_ACTIONS),
        ("patterns of a file", rule_file.MOST_PATTERNS_AT_ONCE),
        ("rules of an org", f"{kept_rules.MOST_KEPT:,}"),
        ("bytes of an org's rules, as they are kept", f"{kept_rules.MOST_BYTES:,}"),
    ],
)
def test_the_limits_in_the_table_are_the_codes(limit: str, value: object) -> None:
    assert f"\n| {limit} | {value} |" in REFERENCE.text

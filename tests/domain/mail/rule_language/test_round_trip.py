"""What is written back reads as the same rule, as YAML and as JSON, and as it is stored."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.mail.rule_language.rule_file import read_rule_document, read_rule_file, write_rule_file
from domain.mail.rule_language.rules import Rule, parse_rule
from tests.domain.mail.rule_language.rule_strategies import DOCUMENTS, WHEN_RULES

DRAWN = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
"""A rule has many parts: on a loaded machine drawing one takes longer than Hypothesis likes."""


@DRAWN
@given(st.lists(DOCUMENTS, min_size=1, max_size=2))
def test_rules_survive_yaml(documents: list[dict[str, Any]]) -> None:
    rules = read_rule_document(documents)
    text = write_rule_file([rule.document for rule in rules])
    assert read_rule_file(text.encode(), "rules.yaml") == rules


@DRAWN
@given(st.lists(DOCUMENTS, min_size=1, max_size=2))
def test_rules_survive_json(documents: list[dict[str, Any]]) -> None:
    rules = read_rule_document(documents)
    written = json.loads(json.dumps([rule.document for rule in rules]))
    assert read_rule_document(written) == rules
    assert read_rule_document({"rules": written}) == rules
    assert read_rule_document(written[0]) == rules[:1]
    assert [rule.document for rule in read_rule_document(written)] == written


@DRAWN
@given(WHEN_RULES)
def test_a_rule_that_is_stored_is_the_rule_that_was_read(document: dict[str, Any]) -> None:
    (rule,) = read_rule_document(document)
    assert isinstance(rule, Rule)
    assert parse_rule(json.loads(rule.model_dump_json())) == rule

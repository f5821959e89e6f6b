"""What is written back reads as the same rule, as YAML and as JSON."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.mail.rule_language.rule_file import read_rule_document, read_rule_file, write_rule_file
from domain.mail.rule_language.rule_words import WrittenRule, write_rule
from tests.domain.mail.rule_language.rule_strategies import WRITTEN

DRAWN = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
"""A rule has many parts: on a loaded machine drawing one takes longer than Hypothesis likes."""


@DRAWN
@given(st.lists(WRITTEN, min_size=1, max_size=2))
def test_rules_survive_yaml(rules: list[WrittenRule]) -> None:
    text = write_rule_file([write_rule(rule) for rule in rules])
    assert read_rule_file(text.encode(), "rules.yaml") == tuple(rules)


@DRAWN
@given(st.lists(WRITTEN, min_size=1, max_size=2))
def test_rules_survive_json(rules: list[WrittenRule]) -> None:
    document = json.loads(json.dumps([write_rule(rule) for rule in rules]))
    assert read_rule_document(document) == tuple(rules)
    assert read_rule_document({"rules": document}) == tuple(rules)
    assert read_rule_document(document[0]) == (rules[0],)

"""The schema of rules as JSON documents, from the models that read them (docs: rule-language.md)."""

from typing import Any

from domain.mail.rule_language.rule_file import MOST_RULES_AT_ONCE
from domain.mail.rule_language.rule_words import RULE_SCHEMA

_LIST = {
    "type": "array",
    "items": {"$ref": "#/components/schemas/RuleDocument"},
    "minItems": 1,
    "maxItems": MOST_RULES_AT_ONCE,
}

RULE_SCHEMAS: dict[str, dict[str, Any]] = {
    **RULE_SCHEMA["$defs"],
    "RuleDocument": {"title": "RuleDocument", "anyOf": RULE_SCHEMA["anyOf"]},
    "RuleDocuments": {
        "title": "RuleDocuments",
        "anyOf": [
            {"$ref": "#/components/schemas/RuleDocument"},
            _LIST,
            {"type": "object", "properties": {"rules": _LIST}, "required": ["rules"], "additionalProperties": False},
        ],
    },
}
"""One rule; and one rule, a list of rules, or `rules` with a list."""

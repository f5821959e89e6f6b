"""The schema of rules as JSON documents. What it lets through, the language still checks (docs: rule-language.md)."""

from typing import Any

from domain.mail.rule_language.condition_words import WORDS
from domain.mail.rule_language.rule_file import MOST_RULES_AT_ONCE
from domain.mail.triage.classification import MODEL_CLASSES

_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
_CONDITION = {
    "type": "object",
    "description": "One condition, or several that must all hold, in the words of the reference of the language.",
    "minProperties": 1,
    "properties": {word: {} for word in WORDS},
    "additionalProperties": False,
}
_THEN = {
    "type": "object",
    "minProperties": 1,
    "properties": {
        "class": {"enum": [one.value for one in MODEL_CLASSES]},
        "needs_reply": {"type": "boolean"},
        "actions": {"type": "array", "items": {}, "maxItems": 20},
        "route": {"type": "string", "pattern": "^agent:[a-z0-9][a-z0-9_-]{0,62}$"},
    },
    "additionalProperties": False,
}
_WHEN_RULE = {
    "type": "object",
    "properties": {
        "name": _NAME,
        "priority": {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 100},
        "enabled": {"type": "boolean", "default": True},
        "when": _CONDITION,
        "then": _THEN,
        "stop": {"type": "boolean", "default": True},
    },
    "required": ["name", "when", "then"],
    "additionalProperties": False,
}
_TOLD_RULE = {
    "type": "object",
    "properties": {
        "name": _NAME,
        "enabled": {"type": "boolean", "default": True},
        "tell": {"type": "string", "minLength": 1, "maxLength": 2_000},
        "for": {"description": "account, global, {domain: …} or {sender: …}", "default": "account"},
        "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 50},
    },
    "required": ["name", "tell"],
    "additionalProperties": False,
}
_LIST = {
    "type": "array",
    "items": {"$ref": "#/components/schemas/RuleDocument"},
    "minItems": 1,
    "maxItems": MOST_RULES_AT_ONCE,
}

RULE_SCHEMAS: dict[str, dict[str, Any]] = {
    "RuleDocument": {"title": "RuleDocument", "oneOf": [_WHEN_RULE, _TOLD_RULE]},
    "RuleDocuments": {
        "title": "RuleDocuments",
        "oneOf": [
            {"$ref": "#/components/schemas/RuleDocument"},
            _LIST,
            {"type": "object", "properties": {"rules": _LIST}, "required": ["rules"], "additionalProperties": False},
        ],
    },
}
"""One rule; and one rule, a list of rules, or `rules` with a list."""

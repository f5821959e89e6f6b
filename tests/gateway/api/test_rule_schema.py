"""The schema of rules takes what the reader takes, and what it takes besides is refused for its meaning alone."""

from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from domain.documents.faults import RefusedDocument
from domain.mail.rule_language.conditions import Condition
from domain.mail.rule_language.rule_file import read_rule_document
from gateway.api.rule_schema import RULE_SCHEMAS
from tests.domain.mail.rule_language.rule_strategies import DOCUMENTS

DRAWN = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
SCHEMA = Draft202012Validator(
    {"$ref": "#/components/schemas/RuleDocument", "components": {"schemas": RULE_SCHEMAS}}, offline=True
)
MEANING = (
    "is no address", "is no domain", "is no regular expression", "is too large", "matches every text", "has \\b",
    "has \\B", "holds for no message", "Input should be less than", "Input should be greater than",
    "Input should be a finite number", "takes only one of", "must be account, global", "goes with no sender",
    "looks like a secret", "is longer than 2000", "is nested deeper", "is one of more than", "has actions of its own",
    "is Gmail's own", "holds what looks like a secret", "is no RFC 3339 time", "amount is more than a year",
    "needs_reply goes with", "decides nothing", "must not be empty", "has more than 20", "holds a control character",
    "has a key with a control character", "must carry its offset",
)  # fmt: skip
"""Why a rule is refused whose words and values have the right shape."""
WORDS = [
    *Condition.words.values(),
    "over",
    "under",
    "names",
    "equals",
    "matches",
    "class",
    "actions",
    "until",
    "type",
    "odd",
]
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**6), st.floats(0, 10), st.just([]), st.just({}),
    st.sampled_from(["", " ", "x", "3 hours", "5 MB", "a@b.example", "star", "forward", "agent:x", "y" * 501]),
    st.dictionaries(st.sampled_from(WORDS), st.sampled_from(["x", "3 hours", True, 7, "a@b.example"]), max_size=2),
    st.lists(st.sampled_from(["x", "list", "star", "a@b.example", 3, None]), max_size=2),
)  # fmt: skip


@st.composite
def nearly_rules(draw: st.DrawFn) -> dict[str, Any]:
    """Rules of which one value is replaced, added or left out."""
    document: dict[str, Any] = deepcopy(draw(DOCUMENTS))
    places: list[tuple[Any, Any]] = []
    left: list[Any] = [document]
    while left:
        value = left.pop()
        keys = value.keys() if isinstance(value, dict) else range(len(value))
        places += [(value, key) for key in keys]
        left += [value[key] for key in keys if isinstance(value[key], dict | list)]
    holder, key = draw(st.sampled_from(places))
    way = draw(st.sampled_from(["replaced", "added", "left out"]))
    if way == "left out":
        del holder[key]
    elif way == "added" and isinstance(holder, dict):
        holder[draw(st.sampled_from(WORDS))] = draw(ODD)
    else:
        holder[key] = draw(ODD)
    return document


def reasons(document: object) -> list[str]:
    try:
        read_rule_document(document)
    except RefusedDocument as refusal:
        return [fault.reason for fault in refusal.faults]
    return []


@DRAWN
@given(DOCUMENTS | nearly_rules())
def test_the_schema_takes_what_the_reader_takes(document: dict[str, Any]) -> None:
    if not reasons(document):
        assert SCHEMA.is_valid(document)


@DRAWN
@given(nearly_rules())
def test_what_the_schema_takes_is_refused_for_its_meaning_alone(document: dict[str, Any]) -> None:
    if SCHEMA.is_valid(document):
        for reason in reasons(document):
            assert any(word in reason for word in MEANING), reason

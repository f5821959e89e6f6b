"""A shape says what kind of values a document has, and none of them."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from domain.orgs.privacy.shapes import shape_of_values

SECRET = "Zebra"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text().map(lambda text: SECRET + text),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().map(lambda text: f"{SECRET}@{text}"), inner),
)


def test_a_payload_shows_its_names_and_kinds() -> None:
    payload = {
        "account_id": "0197a5d2-0000-7000-8000-00000000002a",
        "subject": "x" * 41,
        "to": ["ada@example.org", "bob@example.org"],
        "at": "2026-11-29T20:00:00Z",
        "count": 3,
        "urgent": True,
        "nothing": None,
        "by_address": {"ada@example.org": 1},
    }
    assert shape_of_values(payload) == {
        "account_id": "uuid",
        "subject": "text(41)",
        "to": ["text(15)", "text(15)"],
        "at": "time",
        "count": "number",
        "urgent": "boolean",
        "nothing": None,
        "by_address": {"field 1: text(15)": "number"},
    }


@given(VALUES)
def test_a_shape_is_json_without_any_text_of_the_value(value: object) -> None:
    assert SECRET not in json.dumps(shape_of_values(value))


def test_a_shape_is_short_whatever_it_is_of() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    large = {f"n{number}": ["x" * 1000] * 1000 for number in range(1000)}
    for value in (deep, large, "x" * 1_000_000, "\ud800", "\u202e"):
        assert len(json.dumps(shape_of_values(value))) < 50_000

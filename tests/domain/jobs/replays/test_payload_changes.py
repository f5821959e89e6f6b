"""The difference of two payloads names every place that changed, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.jobs.replays.payload_changes import merged, payload_changes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PAYLOADS = st.dictionaries(st.text(), VALUES, max_size=4)


def test_added_removed_changed_and_nested_places_are_named() -> None:
    before = {"same": 1, "gone": 2, "changed": [1, 2], "deep": {"a": 1, "b": True}}
    after = {"same": 1, "new": None, "changed": [2, 1], "deep": {"a": 1, "b": 1}}
    assert payload_changes(before, after) == [
        {"path": "changed", "before": [1, 2], "after": [2, 1]},
        {"path": "deep.b", "before": True, "after": 1},
        {"path": "gone", "before": 2},
        {"path": "new", "after": None},
    ]


@given(PAYLOADS)
def test_a_payload_does_not_differ_from_itself(payload: dict[str, object]) -> None:
    assert payload_changes(payload, payload) == []


@given(PAYLOADS, PAYLOADS)
def test_the_way_back_is_the_same_list_turned_round(one: dict[str, object], other: dict[str, object]) -> None:
    def turned(change: dict[str, object]) -> dict[str, object]:
        names = {"before": "after", "after": "before", "path": "path"}
        return {names[name]: value for name, value in change.items()}

    assert payload_changes(other, one) == [turned(change) for change in payload_changes(one, other)]
    assert bool(payload_changes(one, other)) >= (one != other)


@pytest.mark.parametrize(
    ("document", "patch", "after"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch_is_merged_as_rfc_7396_says(
    document: dict[str, object], patch: dict[str, object], after: object
) -> None:
    assert merged(document, patch) == after


@given(PAYLOADS, PAYLOADS)
def test_a_patch_changes_no_other_field(document: dict[str, object], patch: dict[str, object]) -> None:
    before = dict(document)
    after = merged(document, patch)
    assert document == before
    assert {name: after[name] for name in document if name not in patch} == {
        name: document[name] for name in document if name not in patch
    }
    assert merged(after, patch) == after


def test_a_patch_that_no_stack_can_hold_is_refused() -> None:
    patch: dict[str, object] = {}
    for _ in range(5000):
        patch = {"a": patch}
    with pytest.raises(Invalid, match="patch"):
        merged({}, patch)

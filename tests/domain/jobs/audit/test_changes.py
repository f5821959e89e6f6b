"""The patch makes the document after of the document before; sentences name what changed, and nothing that did not."""

import json
from typing import Any
from uuid import UUID

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.audit.changes import changes_between
from domain.planning.audit.rules import details_of
from domain.planning.audit.run_sheets import Sheet, read_change, sentences_of

SLOTS, PEOPLE = (UUID(int=1), UUID(int=2), UUID(int=3)), (UUID(int=11), UUID(int=12))
HIDDEN = "blue-horse-battery"
TIMES = ("2026-03-02T08:00:00+00:00", "2026-03-02T09:30:00+00:00", "2026-03-03T09:30:00+00:00")

documents = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.floats(0, 2) | st.text("ab~/", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab~/", max_size=2), inner, max_size=3),
    max_leaves=8,
)
unlisted = st.dictionaries(st.sampled_from(["phone", "api_key", "notes"]), st.just(HIDDEN) | st.just({"x": HIDDEN}))


def person(name: str, is_pinned: bool, more: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "is_pinned": is_pinned, **more}


def people_in(number: int) -> st.SearchStrategy[dict[str, Any]]:
    names = {str(one): f"person {number}.{index}" for index, one in enumerate(PEOPLE)}
    each = {key: st.builds(person, st.just(name), st.booleans(), unlisted) for key, name in names.items()}
    return st.fixed_dictionaries({}, optional=each)


def slot(number: int) -> st.SearchStrategy[dict[str, Any]]:
    listed = st.fixed_dictionaries(
        {
            "name": st.sampled_from([f"slot {number}", f"slot {number} anew"]),
            "starts_at": st.sampled_from(TIMES),
            "ends_at": st.just("2026-03-03T12:00:00+00:00"),
            "place_id": st.none() | st.just(str(UUID(int=21))),
            "place": st.none() | st.just(f"place of {number}"),
            "skills": st.sampled_from([[], ["light"], ["light", "sound"]]),
            "headcount": st.integers(1, 3),
            "priority": st.integers(1, 2),
            "people": people_in(number),
        }
    )
    return st.builds(lambda one, more: {**one, **more}, listed, unlisted)


sheets = st.builds(
    lambda name, slots, more: {"name": name, "slots": slots, **more},
    st.sampled_from(["sheet", "sheet anew"]),
    st.fixed_dictionaries({}, optional={str(one): slot(number) for number, one in enumerate(SLOTS)}),
    unlisted,
)


def event(before: Any, after: Any) -> dict[str, Any]:  # noqa: ANN401 - documents of JSON
    return {"run_sheet_id": str(UUID(int=9)), "revision": 2, "zone": "Europe/Berlin", "before": before, "after": after}


def canonical(document: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(document, sort_keys=True)


@given(documents.filter(lambda one: isinstance(one, dict)), documents.filter(lambda one: isinstance(one, dict)))
def test_a_patch_makes_any_document_of_any_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    changes = changes_between(before, after)
    assert canonical(jsonpatch.apply_patch(before, changes)) == canonical(after)
    assert (changes == []) == (canonical(before) == canonical(after))


@given(sheets, sheets)
def test_the_changes_of_a_run_sheet_make_it_what_it_is_after(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = details_of("run_sheet.changed", event(before, after))
    shown = [Sheet.model_validate(one).model_dump(mode="json") for one in (before, after)]
    assert canonical(jsonpatch.apply_patch(shown[0], list(found.changes))) == canonical(shown[1])
    assert HIDDEN not in canonical([list(found.changes), list(found.sentences)])
    assert (not found.sentences) == (canonical(before) == canonical(after))
    assert (found.subject_id, found.revision) == (UUID(int=9), 2)


@given(sheets, sheets)
def test_sentences_name_each_slot_that_changed_and_no_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    words = " ".join(sentences_of(read_change(event(before, after))))
    for number, slot_id in enumerate(map(str, SLOTS)):
        was, has = before["slots"].get(slot_id), after["slots"].get(slot_id)
        assert (f"“slot {number}" in words) == (canonical(was) != canonical(has))
        for index, person in enumerate(map(str, PEOPLE)):
            then, now = ((one or {"people": {}})["people"].get(person) for one in (was, has))
            listed = [one and (one["name"], one["is_pinned"]) for one in (then, now)]
            assert (f"“person {number}.{index}”" in words) == (listed[0] != listed[1])

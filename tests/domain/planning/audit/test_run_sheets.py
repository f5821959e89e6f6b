"""What a person reads of a change of a run sheet, by the closed list of fields."""

from typing import Any
from uuid import UUID

import pytest

from domain.orgs.privacy.secrets import names_secret
from domain.planning.audit import rules
from domain.planning.audit.rules import details_of
from domain.planning.audit.run_sheets import MOST_SENTENCES

SLOT, ADA, EVE = (str(UUID(int=number)) for number in (1, 11, 12))
LOAD_IN: dict[str, Any] = {
    "name": "Load-in",
    "starts_at": "2026-03-02T07:00:00+00:00",
    "ends_at": "2026-03-02T11:00:00+00:00",
    "place_id": None,
    "place": None,
    "skills": [],
    "headcount": 1,
    "priority": 1,
    "people": {ADA: {"name": "Ada", "is_pinned": False}},
}
SECRET = "blue-horse-battery-7719"  # the test's own


def said(before: dict[str, Any] | None, after: dict[str, Any] | None, **facts: object) -> list[str]:
    """The sentences about one slot that was so before and is so after."""
    sheets = [{"name": "Friday", "slots": {SLOT: one} if one else {}} for one in (before, after)]
    data = {"run_sheet_id": str(UUID(int=9)), "revision": 3, "zone": "Europe/Berlin"} | facts
    return list(details_of("run_sheet.changed", {**data, "before": sheets[0], "after": sheets[1]}).sentences)


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        ({"name": "Build"}, ["“Load-in” is now called “Build”."]),
        (
            {"starts_at": "2026-03-02T08:00:00+00:00"},
            ["“Load-in” was moved to 2026-03-02 09:00 to 12:00 (before: 2026-03-02 08:00 to 12:00) (Europe/Berlin)."],
        ),
        ({"place": "Hall", "place_id": str(UUID(int=21))}, ["“Load-in” is now at “Hall” (before: no place)."]),
        ({"skills": ["sound", "light"]}, ["“Load-in” now wants light, sound (before: no skill)."]),
        ({"headcount": 2}, ["“Load-in” now wants 2 people (before: 1)."]),
        ({"priority": 5}, ["“Load-in” now has the priority 5 (before: 1)."]),
        (
            {"people": {EVE: {"name": "Łukasz", "is_pinned": True}}},
            ["“Ada” is no longer in “Load-in”.", "“Łukasz” was put in “Load-in”, pinned."],
        ),
        ({"people": {ADA: {"name": "Ada", "is_pinned": True}}}, ["“Ada” is now pinned in “Load-in”."]),
        ({"phone": "030 555"}, ["Something of “Load-in” changed that is not shown."]),
        ({}, []),
    ],
)
def test_a_slot_that_changed(change: dict[str, Any], sentences: list[str]) -> None:
    assert said(LOAD_IN, {**LOAD_IN, **change}) == sentences


def test_a_slot_that_came_or_went_takes_its_people_along() -> None:
    assert said(None, LOAD_IN) == [
        "“Load-in” was added: 2026-03-02 08:00 to 12:00 (Europe/Berlin).",
        "“Ada” was put in “Load-in”.",
    ]
    assert said(LOAD_IN, None, zone="UTC") == [
        "“Load-in” was removed: 2026-03-02 07:00 to 11:00 (UTC).",
        "“Ada” is no longer in “Load-in”.",
    ]


def test_a_field_that_is_not_on_the_list_never_shows_its_value() -> None:
    names = ["api_key", "password", "user_password", "authToken", "client_secret", "Cookie", "notes", "email"]
    assert sum(map(names_secret, names)) == 6
    for name in names:
        sheets = [
            {"name": "Friday", name: f"{SECRET}{number}", "slots": {SLOT: {**LOAD_IN, name: f"{SECRET}{number}"}}}
            for number in (1, 2)
        ]
        data = {"run_sheet_id": str(UUID(int=9)), "revision": 3, "before": sheets[0], "after": sheets[1]}
        found = details_of("run_sheet.changed", data)
        assert SECRET not in repr(found)
        assert name not in repr(found)
        assert len(found.sentences) == 2


def test_an_address_in_a_name_is_shown_by_its_domain() -> None:
    (sentence,) = said(LOAD_IN, {**LOAD_IN, "name": "call ada@example.org, Bearer abcdefghijklmnopqrstuvwx"})
    assert "example.org" in sentence
    assert "ada@" not in sentence
    assert "abcdefgh" not in sentence


def test_many_changes_are_counted_and_few_are_said() -> None:
    crowd = {str(UUID(int=100 + number)): {"name": f"Person {number}"} for number in range(MOST_SENTENCES + 5)}
    sentences = said({**LOAD_IN, "people": {}}, {**LOAD_IN, "people": crowd})
    assert (len(sentences), sentences[-1]) == (MOST_SENTENCES + 1, "And 5 more changes.")


def test_changes_of_more_bytes_than_are_kept_are_left_out_and_that_is_said() -> None:
    slots = {str(UUID(int=number + 1)): {**LOAD_IN, "name": "x" * 400} for number in range(1_000)}
    data = {
        "run_sheet_id": str(UUID(int=9)),
        "revision": 3,
        "before": {"name": "Friday", "slots": {}},
        "after": {"name": "Friday", "slots": slots},
    }
    found = details_of("run_sheet.changed", data)
    assert (found.changes, found.sentences[-1]) == ((), "The changes have more bytes than are kept.")
    assert rules.MOST_BYTES < 1_048_576, "what the table takes"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"before": [], "after": {}},
        {"run_sheet_id": "x", "revision": 0, "before": {"name": "a", "slots": {}}, "after": {"name": "a", "slots": {}}},
        {
            "run_sheet_id": str(UUID(int=9)),
            "revision": 1,
            "before": {"name": "a", "slots": {}},
            "after": {"name": "a", "slots": {SECRET: LOAD_IN}},
        },
        {
            "run_sheet_id": str(UUID(int=9)),
            "revision": 1,
            "zone": "Europe/Berlin",
            "before": {"name": "a", "slots": {}},
            "after": {"name": "a", "slots": {SLOT: {**LOAD_IN, "ends_at": "9999-12-31T23:59:59Z"}}},
        },
    ],
)
def test_an_event_that_the_rules_cannot_read_has_details_that_say_so(data: dict[str, Any]) -> None:
    found = details_of("run_sheet.changed", data)
    assert (found.changes, found.subject_id) == ((), None)
    assert found.sentences == ["The run sheet changed; these rules cannot read how."]


def test_slots_that_the_event_had_no_room_for_are_counted() -> None:
    sheets = [{"name": "Friday", "slots": {}, "slots_left_out": 7}] * 2
    data = {"run_sheet_id": str(UUID(int=9)), "revision": 3, "before": sheets[0], "after": sheets[1]}
    sentences = details_of("run_sheet.changed", data).sentences
    assert list(sentences) == ["7 more slots have changed, for which the event had no room."]

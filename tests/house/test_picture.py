"""The README's picture of the rooms is what the import table says."""

import pytest

from tests.house.test_rooms import MAY_IMPORT
from tools import house_picture


def test_the_readme_shows_the_rooms_of_today() -> None:
    text = house_picture.README.read_text()
    assert house_picture.redrawn(text) == text, "run `make docs`"


def test_every_room_of_the_table_is_drawn_or_left_out_on_purpose() -> None:
    assert house_picture.forgotten(MAY_IMPORT) == set()
    assert house_picture.forgotten({**MAY_IMPORT, "attic": set()}) == {"attic"}


def test_an_arrow_that_follows_from_others_is_not_drawn() -> None:
    table = {"domain": (), "storage": ("domain.jobs",), "engine": ("domain", "storage"), "tasks": ("engine", "domain")}
    assert house_picture.arrows(table) == [("tasks", "engine"), ("engine", "storage"), ("storage", "domain")]


def test_a_readme_without_its_place_is_refused() -> None:
    with pytest.raises(ValueError, match="has 0 places"):
        house_picture.redrawn("# Postroom\n")

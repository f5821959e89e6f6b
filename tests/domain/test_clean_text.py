"""Text that can be kept: nothing in it stops PostgreSQL, and what was fit before is left alone."""

from enum import StrEnum

from hypothesis import given
from hypothesis import strategies as st

from domain.clean_text import clean_text


class Why(StrEnum):
    """A handler's own words."""

    OLD = "too old"


@given(st.text(st.characters()))
def test_whatever_comes_can_be_kept(text: str) -> None:
    kept = clean_text(text)
    assert "\0" not in kept
    assert kept.encode().decode() == kept


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_what_can_be_kept_is_left_alone(text: str) -> None:
    assert clean_text(text) == text


def test_a_word_of_an_enumeration_becomes_plain_text() -> None:
    assert type(clean_text(Why.OLD)) is str

"""Failures are of one kind when their errors differ in ids, numbers and quotes alone."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.monitoring.failure_kinds import LONGEST_WORDS, MOST_KINDS, OTHER, bounded, kind_of, plain_words

WORDS = st.lists(st.sampled_from(["the", "message", "of", "was", "refused", "by", "it's", "Gmail:"]), min_size=1)
DIFFERENT = st.one_of(
    st.uuids().map(str),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.emails(),
    st.text("0123456789abcdef", min_size=8).map(lambda text: f"0{text}"),
    st.text(st.characters(exclude_characters='"\n')).map(lambda text: f'"{text}"'),
    st.text(st.characters(categories=["L", "Zs"])).map(lambda text: f"'{text}'"),
    st.text(st.characters(categories=["L"])).map(lambda text: f"https://example.com/{text}"),
)


@given(WORDS, WORDS, DIFFERENT, DIFFERENT)
def test_what_differs_from_job_to_job_is_left_out(before: list[str], after: list[str], one: str, other: str) -> None:
    def said(differs: str) -> str:
        return " ".join([*before, differs, *after])

    assert kind_of("a.b", "gone", said(one)) == kind_of("a.b", "gone", said(other))


@given(st.text())
def test_the_words_of_a_kind_are_bounded_and_have_no_number(reason: str) -> None:
    words = plain_words(reason)
    assert len(words) <= LONGEST_WORDS
    assert not any(map(str.isdigit, words))
    assert "@" not in words


@given(st.text(st.sampled_from("'\"`“[{a \\")).map(lambda text: text * 1000))
def test_a_hostile_reason_is_read_up_to_a_bound(reason: str) -> None:
    assert kind_of("a.b", "x", reason) == kind_of("a.b", "x", reason[:1000])


@pytest.mark.parametrize(
    "other", [("a.c", "gone", "no such draft"), ("a.b", "bug", "no such draft"), ("a.b", "gone", "no such thread")]
)
def test_another_type_code_or_reason_is_another_kind(other: tuple[str, str, str]) -> None:
    assert kind_of(*other).fingerprint != kind_of("a.b", "gone", "no such draft").fingerprint


def test_kinds_beyond_a_number_are_one_per_job_type() -> None:
    known = {str(UUID(int=number)) for number in range(MOST_KINDS)}
    first, second = (bounded(kind_of("a.b", f"code {word}", word), known) for word in ("red", "green"))
    assert first == second
    assert (first.job_type, first.code) == ("a.b", OTHER)
    assert bounded(kind_of("a.b", "red", "red"), {kind_of("a.b", "red", "red").fingerprint, *known}).code == "red"

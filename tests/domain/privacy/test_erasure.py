"""What a person is found by, and what stands in its place."""

import json
import re

import pytest

from domain.jobs.failures import Invalid
from domain.privacy.erasure import Mark, MarkKind, named, search_for

UUID_TEXT = "3f2b8c1d-9e4a-4b6f-8d2c-1a2b3c4d5e6f"
NOBODY = "00000000-0000-0000-0000-000000000000"
MARKS = (
    Mark(MarkKind.ADDRESS, "ann@example.org"),
    Mark(MarkKind.ADDRESS, "a@b.c"),
    Mark(MarkKind.ID, UUID_TEXT),
    Mark(MarkKind.NUMBER, "+4930123456"),
    Mark(MarkKind.NUMBER, "42"),
    Mark(MarkKind.TOKEN, "d3v:ICE(token):4711"),
    Mark(MarkKind.TOKEN, "token"),
    Mark(MarkKind.NAME, "Ann O'Hara"),
    Mark(MarkKind.NAME, "Jo"),
    Mark(MarkKind.NAME, 'Al "Ace" Roe'),
)
CASES = [
    ("Ann O'Hara <Ann@Example.org>", "erased <x@x.invalid>"),
    ("ann@example.org.", "x@x.invalid."),
    ("ann+news@example.org and a@b.c", "x@x.invalid and x@x"),
    ("?to=mailto%3Aann%40example.org&x=1", "?to=mailto%3Ax@x.invalid&x=1"),
    ("joann@example.org, ann@example.org.uk, ann@example.organic, x.ann@example.org", None),
    (f"user:{UUID_TEXT.upper()} {UUID_TEXT.replace('-', '')}", f"user:{NOBODY} {'0' * 32}"),
    ("tel:+4930123456 04930123456 49301234567", "tel:+0000000000 04930123456 49301234567"),
    ("42 of 42", None),
    ("for d3v:ICE(token):4711!", "for erased!"),
    ("a token, xd3v:ICE(token):4711, d3v:ICE(token):47110", None),
    ("ANN\n O'HARA, Joanna, Jo, jo.", "erased, Joanna, er, er."),
    (json.dumps(["\nAnn\n\tO'Hara\tann@example.org", '\n"Jo"']), json.dumps(["\nerased\tx@x.invalid", '\n"er"'])),
    (json.dumps(["\rd3v:ICE(token):4711", 'Al "Ace" Roe']), json.dumps(["\rerased", "erased"])),
    ('Al "Ace" Roe', "erased"),
]
"""Texts, and each without the marks; None for one in which there is none."""


@pytest.mark.parametrize(("text", "left"), CASES)
def test_a_person_is_taken_out_and_nobody_else(text: str, left: str | None) -> None:
    assert search_for(MARKS).without(text) == (text if left is None else left)


@pytest.mark.parametrize(("text", "left"), CASES)
def test_the_loose_pattern_finds_all_that_is_taken_out(text: str, left: str | None) -> None:
    assert left is None or re.search(search_for(MARKS).loose, text, re.IGNORECASE)


@pytest.mark.parametrize(("text", "left"), CASES)
def test_a_name_identifies_nobody(text: str, left: str | None) -> None:
    others = [mark for mark in MARKS if mark.kind is not MarkKind.NAME]
    identified = re.search(search_for(MARKS).identity, text, re.IGNORECASE) is not None
    assert identified == (search_for(others).without(text) != text)
    assert left is not None or not identified


def test_names_alone_identify_nothing() -> None:
    assert not re.search(search_for(named(["Jo"])).identity, "Jo\n", re.IGNORECASE)


def test_nothing_is_longer_than_what_it_replaces() -> None:
    """A bounded column takes what comes in its place."""
    assert all(len(search_for([mark]).without(mark.text)) <= len(mark.text) for mark in MARKS)


def test_an_address_of_others_is_left() -> None:
    search = search_for(MARKS, ["ann+team@example.org", "ann+x@example.com", "ann@example.org.uk"])
    for text in ("Ann+Team@example.org", "mailto:ann+team%40example.org"):
        assert search.without(text) == text
        assert not re.search(search.loose, text, re.IGNORECASE)
    assert search.without("ann+x@example.org, ann+teams@example.org") == "x@x.invalid, x@x.invalid"


@pytest.mark.parametrize("name", ["", " ", "-", "A"])
def test_a_name_that_says_nothing_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="name"):
        named([name])

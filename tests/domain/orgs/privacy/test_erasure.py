"""What a person is found by, and what stands in its place."""

# ruff: noqa: RUF001 - letters of other scripts

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.orgs.privacy.erasure import Mark, MarkKind, named, search_for
from domain.orgs.spelling.person_names import name_key
from tests.domain.orgs.privacy.ways_to_write import ADDRESSES, NAMES, NUMBERS, Way

UUID_TEXT = "3f2b8c1d-9e4a-4b6f-8d2c-1a2b3c4d5e6f"
NOBODY = "00000000-0000-0000-0000-000000000000"
MARKS = (
    Mark(MarkKind.ADDRESS, "ann@example.org"),
    Mark(MarkKind.ADDRESS, "a@b.c"),
    Mark(MarkKind.ID, UUID_TEXT),
    Mark(MarkKind.PHONE, "+4930123456"),
    Mark(MarkKind.PHONE, "+491701234567"),
    Mark(MarkKind.NUMBER, "118003"),
    Mark(MarkKind.NUMBER, "1180036254"),
    Mark(MarkKind.NUMBER, "42"),
    Mark(MarkKind.TOKEN, "d3v:ICE(token):4711"),
    Mark(MarkKind.TOKEN, "token"),
    Mark(MarkKind.NAME, "Ann O'Hara"),
    Mark(MarkKind.NAME, "Jo"),
    Mark(MarkKind.NAME, 'Al "Ace" Roe'),
    Mark(MarkKind.NAME, "Zoë Maria O'Weiß-Kılıç"),
    Mark(MarkKind.ADDRESS, "zoe.w@xn--mller-brombel-rmb4fg.example"),
)
SHORTEST_TEXT = 7
"""Of the marks that are tried in every way: a shorter one has no words."""
CASES = [
    ("Ann O'Hara <Ann@Example.org>", "erased <x@x.invalid>"),
    ("ann@example.org.", "x@x.invalid."),
    ("ann+news@example.org and a@b.c", "x@x.invalid and x@x"),
    ("?to=mailto%3Aann%40example.org&x=1", "?to=mailto%3Ax@x.invalid&x=1"),
    ("joann@example.org, ann@example.org.uk, ann@example.organic, x.ann@example.org", None),
    (f"user:{UUID_TEXT.upper()} {UUID_TEXT.replace('-', '')}", f"user:{NOBODY} {'0' * 32}"),
    ("tel:+4930123456 04930123456 49301234567", "tel:+0000000000 04930123456 49301234567"),
    ("0049 30 123456 and 030 123456, 4930123456", "000000000000 and 000000000, 0000000000"),
    ("42 of 42, 118003", None),
    ("by 1180036254, not 118 003 6254", "by 0000000000, not 118 003 6254"),
    ("Call +49 170 1234567 tonight", "Call +000000000000 tonight"),
    ("4711,01701234567,x 0170 1234567,0171", "4711,00000000000,x 00000000000,0171"),
    ("0.01701234567 0.1701234567 3,01701234567 491701234567.50 491701234567,50 49 170 1234567 a0170 1234567", None),
    (
        "sms-491701234567-x phone-01701234567 b4c1d-01701234567",
        "sms-000000000000-x phone-00000000000 b4c1d-01701234567",
    ),
    (
        "01701234567 1701234567 0170 12345678 +43 170 1234567 1 0170 1234567 8",
        "00000000000 1701234567 0170 12345678 +43 170 1234567 1 00000000000 8",
    ),
    ("Weiß, Zoë. Zoe Maria O'Weiss-Kilic, Maria O'Weiß-Kılıç, Zoé", None),
    ("O'Ha\u0308ra, Ann and Ann O'Har\u0308 O'HARA, ANN.", "O'Ha\u0308ra, Ann and Ann O'Har\u0308 erased."),
    ("When Ann. O'Hara comes, Ann - O'Hara, Éjo, Jo\u0308", None),
    ("for d3v:ICE(token):4711!", "for erased!"),
    ("a token, xd3v:ICE(token):4711, d3v:ICE(token):47110", None),
    ("ANN\n O'HARA, Joanna, Jo, jo.", "erased, Joanna, er, er."),
    (json.dumps(["\nAnn\n\tO'Hara\tann@example.org", '\n"Jo"']), json.dumps(["\nerased\tx@x.invalid", '\n"er"'])),
    (json.dumps(["\rd3v:ICE(token):4711", 'Al "Ace" Roe']), json.dumps(["\rerased", "erased"])),
    ('Al "Ace" Roe', "erased"),
    ("o'ann@example.org, éann@example.org, x%2Eann%40example.org", None),
    ("'ann@example.org' (it's ann@example.org)", "'x@x.invalid' (it's x@x.invalid)"),
    ("Call Jo.Jo-and-Jo or x.Jo", "Call er.er or x.er"),
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


EVERY_WAY = [
    (mark, way, write)
    for kind, ways in ((MarkKind.NAME, NAMES), (MarkKind.ADDRESS, ADDRESSES), (MarkKind.PHONE, NUMBERS))
    for mark in MARKS
    if mark.kind is kind and len(mark.text) > SHORTEST_TEXT
    for way, write in ways.items()
]


@pytest.mark.parametrize(("mark", "way", "write"), EVERY_WAY, ids=[f"{one[0].text} {one[1]}" for one in EVERY_WAY])
def test_a_person_is_found_in_every_way_to_write_them(mark: Mark, way: str, write: Way) -> None:
    text = f"at {write(mark.text)} of"
    search = search_for([mark])
    assert search.without(text) != text, way
    assert search.without(text) == search.without(search.without(text))
    assert re.search(search.loose, text, re.IGNORECASE)
    assert len(search.without(text)) <= len(text)


NAMES_OF_PEOPLE = st.lists(
    st.text(alphabet=st.characters(categories=["Ll", "Lu", "Lo", "Lt"], max_codepoint=0x1FFFF), min_size=2, max_size=6),
    min_size=2,
    max_size=4,
).map(lambda words: unicodedata.normalize("NFKC", " ".join(words)))


@given(
    NAMES_OF_PEOPLE,
    st.sampled_from(["as it is", "small", "in parts", "unseen letters", "many blanks", "last name first"]),
)
def test_what_is_the_same_name_is_found_whatever_its_script(name: str, way: str) -> None:
    written = NAMES[way](name)
    if name_key(written) == name_key(name):
        search = search_for(named([name]))
        assert search.without(f"({written})") == f"({search.instead[0]})"


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


@pytest.mark.parametrize("name", ["", " ", "-", "A", "x" * 201, "Zoë" + "\u0301" * 40])
def test_a_name_that_says_nothing_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="name"):
        named([name])

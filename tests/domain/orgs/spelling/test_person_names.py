"""Names that are the same to a reader are the same, and no others."""

# ruff: noqa: RUF001 - letters of other scripts

import pytest

from domain.orgs.spelling.person_names import name_key

JOERG = "Jörg Müller"
SAME = [
    (JOERG, "Jo\u0308rg Mu\u0308ller"),
    (JOERG, "  JÖRG \u00a0\n MÜLLER "),
    (JOERG, "Müller, Jörg"),
    (JOERG, "MU\u0308LLER ,\tJörg"),
    (JOERG, "\uff2a\u00f6rg M\u00fc\u200bll\u00ader"),
    ("Sean O'Hara", "Sean O\u2019Hara"),
    ("Anne-Marie", "Anne\u2010Marie"),
    ("Weiß", "WEISS"),
    ("İnci Kılıç", "inci KILIÇ"),
    ("office", "o\ufb03ce"),
]
OTHER = [
    (JOERG, "Jorg Muller"),
    (JOERG, "Joerg Mueller"),
    (JOERG, "Müller Jörg"),
    ("Anne-Marie", "Anne Marie"),
    ("a, b, c", "b c, a"),
]


@pytest.mark.parametrize(("name", "written"), SAME)
def test_a_name_is_the_same_however_it_is_written(name: str, written: str) -> None:
    assert name_key(name) == name_key(written) == name_key(name_key(written))


@pytest.mark.parametrize(("name", "other"), OTHER)
def test_other_names_are_others(name: str, other: str) -> None:
    assert name_key(name) != name_key(other)

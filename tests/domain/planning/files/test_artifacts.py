"""What an artifact may be called, where its bytes lie, and which bytes belong to none."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.planning.files.artifacts import artifact_at, check_unpacked, checked_facts, orphans_of, place_of

ORG, FIRST, SECOND = UUID(int=1), UUID(int=2), UUID(int=3)


@pytest.mark.parametrize(
    ("kind", "name", "media_type", "field"),
    [
        ("Plan", "a.pdf", "application/pdf", "kind"),
        ("plan-b", "a.pdf", "application/pdf", "kind"),
        ("plan", "", "application/pdf", "name"),
        ("plan", "../a.pdf", "application/pdf", "name"),
        ("plan", "a\r\nSet-Cookie: b", "application/pdf", "name"),
        ("plan", "a\ud800", "application/pdf", "name"),
        ("plan", "a" * 201, "application/pdf", "name"),
        ("plan", "a.pdf", "pdf", "media_type"),
        ("plan", "a.pdf", "text/html\r\nX: y", "media_type"),
    ],
)
def test_what_could_break_a_header_or_a_path_is_refused_by_its_field(
    kind: str, name: str, media_type: str, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        checked_facts(kind, name, media_type)
    assert refused.value.field == field


def test_a_name_may_be_in_any_script() -> None:
    assert checked_facts("plan", "برنامج 計画 📅.pdf", "application/pdf").name == "برنامج 計画 📅.pdf"


@given(st.uuids(), st.uuids())
def test_a_place_says_whose_bytes_lie_there(org_id: UUID, artifact_id: UUID) -> None:
    assert artifact_at(place_of(org_id, artifact_id)) == artifact_id
    assert artifact_at(f"{place_of(org_id, artifact_id)}#1") == artifact_id, "a put into a folder that was cut off"


@pytest.mark.parametrize(
    "place",
    [
        "",
        "a",
        "a/b",
        f"{ORG}",
        f"{ORG}/",
        f"{ORG}/{FIRST}/x",
        f"{ORG}/{FIRST.hex}",
        f"{ORG}/{FIRST}#",
        f"{ORG}/{FIRST}#a",
    ],
)
def test_a_place_of_somebody_else_is_none_of_ours(place: str) -> None:
    assert artifact_at(place) is None


def test_only_our_own_bytes_without_a_row_are_orphans() -> None:
    places = [place_of(ORG, FIRST), place_of(ORG, SECOND), "backup/of/somebody"]
    assert orphans_of(places, [FIRST]) == (place_of(ORG, SECOND),)
    assert orphans_of(places, [FIRST, SECOND]) == ()


def test_a_packed_file_is_refused() -> None:
    check_unpacked(b"\x1f")
    check_unpacked(b"PK\x03\x04")
    with pytest.raises(Invalid, match="gzip"):
        check_unpacked(b"\x1f\x8b\x08")

"""What an import is asked for: the form of a file, its source, and whom it names."""

from uuid import UUID

import pytest

from domain.jobs.failures import Invalid
from domain.planning.files.imports import People, format_of, source_of

ADA, BEN, TWIN = (UUID(int=number) for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("named", "media_type", "name", "expected"),
    [
        ("csv", "text/calendar", "a.ics", "csv"),
        (None, "Text/Calendar", "a.csv", "icalendar"),
        (None, "application/octet-stream", "A.ICS", "icalendar"),
        (None, "application/octet-stream", "a.b.tsv", "csv"),
        (None, "application/octet-stream", "csv", "csv"),
        (None, "application/pdf", "a.pdf", None),
        (None, "application/octet-stream", "a", None),
    ],
)
def test_the_format_is_named_or_told_by_the_file(
    named: str | None, media_type: str, name: str, expected: str | None
) -> None:
    if expected is not None:
        assert format_of(named, media_type, name) == expected
        return
    with pytest.raises(Invalid) as refused:
        format_of(named, media_type, name)
    assert refused.value.field == "format"


def test_the_source_is_the_files_name_and_never_what_people_state_themselves() -> None:
    assert [source_of(None, " a.csv "), source_of("ada", "a.csv")] == ["a.csv", "ada"]
    for named, name in ((" HAND ", "a.csv"), (None, "hand")):
        with pytest.raises(Invalid) as refused:
            source_of(named, name)
        assert refused.value.field == "source"


def test_a_person_is_named_by_id_or_by_a_name_that_only_one_has() -> None:
    people = People([(ADA, "Ada  Ünal"), (BEN, "Ben"), (TWIN, "BEN")])
    assert {people.whose(text) for text in (str(ADA), str(ADA).upper(), "ada ünal", " ADA ÜNAL ")} == {str(ADA)}
    assert people.whose(str(TWIN)) == str(TWIN)
    with pytest.raises(ValueError, match="2 people"):
        people.whose("ben")
    for nobody in ("Ann", "", str(UUID(int=9))):
        with pytest.raises(ValueError, match="nobody"):
            people.whose(nobody)


@pytest.mark.parametrize("written", ["Jo\u0308rg Mu\u0308ller", "M\u00fcller, J\u00f6rg", "J\u00d6RG\u00a0M\u00dcLLER"])
def test_a_person_is_known_however_a_file_writes_the_name(written: str) -> None:
    collaborator = UUID(int=7)
    assert People([(collaborator, "J\u00f6rg M\u00fcller")]).whose(written) == str(collaborator)

"""People's times come in by `imports.availability`, from a table or a calendar: all or none, and without doubles."""

import csv
import io
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from domain.payloads.imports import AvailabilityPayload
from domain.planning.files.artifacts import place_of
from domain.planning.model import Plan
from storage.planning.artifacts import StoredArtifact
from storage.planning.projects import MOST_AVAILABILITIES, Project
from tests.doubles.factories import make_org, make_project
from tests.doubles.planning.planning_jobs import file_of, kept_file, run, stored
from tests.doubles.planning.plans import person, person_id
from tests.doubles.told_people import ToldPeople

HEAD = "collaborator,from,until,kind,id\n"
TABLE = HEAD + (
    "Person 1,2026-12-01 10:00,2026-12-01 12:00,available,\n"
    f"{person_id(2)},2026-12-02,2026-12-02,busy,x2\n"
    "person  1,2026-12-03T10:00+02:00,2026-12-03T12:00+02:00,preferred,x3\n"
)
RULE = "RRULE:FREQ=DAILY;COUNT=3"


def calendar(*lines: str, uid: str = "a@example.com") -> str:
    """A calendar with one event, tomorrow at ten unless the lines say otherwise."""
    inside = "\r\n".join(["BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT"])
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:test\r\n{inside}\r\nEND:VCALENDAR\r\n"


@pytest.fixture
def project(told: ToldPeople) -> Project:
    return stored(told, Plan((), (person(1), person(2))))


def table(told: ToldPeople, text: str | bytes = TABLE, name: str = "times.csv") -> StoredArtifact:
    return file_of(told, text if isinstance(text, bytes) else text.encode(), name, "text/csv")


def events(told: ToldPeople, text: str, name: str = "ada.ics") -> StoredArtifact:
    return file_of(told, text.encode(), name, "text/calendar")


def take(told: ToldPeople, project: Project, file: StoredArtifact, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a payload
    """Import a file; the output of a job that has ended well."""
    payload = AvailabilityPayload(project_id=project.project_id, artifact_id=file.artifact_id, **more)
    state, output = run(told, payload, project.project_id)
    assert state == "succeeded", output
    return output


def refused(told: ToldPeople, project: Project, file: StoredArtifact, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a payload
    """Import a file that cannot be taken; what the job that has failed says."""
    payload = AvailabilityPayload(project_id=project.project_id, artifact_id=file.artifact_id, **more)
    state, error = run(told, payload, project.project_id)
    assert (state, error["code"], error["attempt"]) == ("failed", "imports.refused", 1), error
    query = "select progress from jobs where state = 'failed' order by finished_at desc limit 1"
    ((said,),) = told.database.execute(query).fetchall()
    assert said["result"] == "refused"
    assert said["artifact_id"] in error["reason"]
    assert said["faults"][0]["why"] in error["reason"]
    return dict(said)


def kept(told: ToldPeople) -> list[tuple[UUID, str, str, str]]:
    query = (
        "select collaborator_id, kind, to_char(lower(during) at time zone 'UTC', 'MM-DD HH24:MI'),"
        " to_char(upper(during) at time zone 'UTC', 'MM-DD HH24:MI') from availabilities order by 1, 3"
    )
    return told.database.execute(query).fetchall()


def counts(output: dict[str, Any]) -> tuple[str, int, int, int]:
    return (output["result"], output["new"], output["changed"], output["unchanged"])


def test_a_table_is_imported_once_however_often_it_comes(told: ToldPeople, project: Project) -> None:
    assert counts(take(told, project, table(told), dry_run=True)) == ("dry_run", 3, 0, 0)
    assert kept(told) == []
    output = take(told, project, table(told), zone="Europe/Berlin")
    assert counts(output) == ("imported", 3, 0, 0)
    assert (output["read"], output["floating"], output["source"]) == (3, 2, "times.csv")
    assert kept(told) == [
        (person_id(1), "available", "12-01 09:00", "12-01 11:00"),
        (person_id(1), "preferred", "12-03 08:00", "12-03 10:00"),
        (person_id(2), "busy", "12-01 23:00", "12-02 23:00"),
    ]
    assert counts(take(told, project, table(told), zone="Europe/Berlin")) == ("imported", 0, 0, 3)
    by_id = TABLE.replace("Person 1", str(person_id(1)))
    assert counts(take(told, project, table(told, by_id), zone="Europe/Berlin")) == ("imported", 0, 0, 3)
    moved = table(told, TABLE.replace("12:00+02:00,preferred", "13:00+02:00,available"))
    assert counts(take(told, project, moved, zone="Europe/Berlin", dry_run=True)) == ("dry_run", 0, 1, 2)
    assert counts(take(told, project, moved, zone="Europe/Berlin")) == ("imported", 0, 1, 2)
    assert (person_id(1), "available", "12-03 08:00", "12-03 11:00") in kept(told)
    assert len(kept(told)) == 3


def test_a_source_is_named_and_what_people_state_themselves_is_none(told: ToldPeople, project: Project) -> None:
    take(told, project, table(told))
    assert counts(take(told, project, table(told, name="again.csv"), source="times.csv")) == ("imported", 0, 0, 3)
    assert counts(take(told, project, table(told, name="again.csv"))) == ("imported", 3, 0, 0)
    for named, source in (("again.csv", " Hand "), ("hand", None)):
        file = table(told, name=named)
        payload = AvailabilityPayload(project_id=project.project_id, artifact_id=file.artifact_id, source=source)
        assert "source" in run(told, payload)[1]["reason"]


def test_a_calendar_is_one_persons_and_its_options_count(told: ToldPeople, project: Project) -> None:
    ten = ("DTSTART:20261210T100000", "DTEND:20261210T110000")
    file = events(told, calendar(*ten, RULE))
    output = take(told, project, file, collaborator_id=person_id(2), zone="Europe/Berlin")
    assert (counts(output), output["floating"]) == (("imported", 3, 0, 0), 3)
    assert [row[:3] for row in kept(told)] == [(person_id(2), "busy", f"12-{day} 09:00") for day in (10, 11, 12)]
    assert counts(take(told, project, file, collaborator_id=person_id(2), zone="Europe/Berlin"))[1:] == (0, 0, 3)
    free = events(told, calendar(*ten, "TRANSP:TRANSPARENT", uid="f@example.com"))
    day = events(told, calendar("DTSTART;VALUE=DATE:20261211", uid="d@example.com"))
    for other, option, ignored in (
        (free, {}, {"free": 1}),
        (free, {"free_events": "busy"}, {}),
        (day, {"whole_days": "ignore"}, {"whole day": 1}),
        (day, {}, {}),
    ):
        said = take(told, project, other, collaborator_id=person_id(1), dry_run=True, **option)
        assert (said["ignored"], said["new"]) == (ignored, 1 - len(ignored))


REFUSED_TABLES: dict[str, tuple[bytes, tuple[int, str]]] = {
    "UTF-16 without a mark": (TABLE.encode("utf-16-le"), (1, "column 1")),
    "cp1252 called utf-8": (TABLE.replace("x2", "Tür").encode("cp1252"), (3, "id")),
    "a NUL": (TABLE.replace("x2", "x\0").encode(), (3, "id")),
    "10 MB in a field": (TABLE.replace("x2", "x" * 10_000_000).encode(), (3, "")),
    "a formula": (TABLE.replace("Person 1", '=HYPERLINK(""x"")').encode(), (2, "collaborator")),
    "nobody of that name": (TABLE.replace("Person 1", "Nobody").encode(), (2, "collaborator")),
    "the same person and id twice": (
        TABLE.replace("x3", "x2").replace(str(person_id(2)), "person 1").encode(),
        (4, "id"),
    ),
    "a time that ends before it begins": (TABLE.replace("12:00,available", "09:00,available").encode(), (2, "until")),
}
TEN = "DTSTART:20261210T100000Z"
REFUSED_CALENDARS: dict[str, tuple[str, str]] = {
    "INTERVAL=0": (calendar(TEN, "DURATION:PT1H", "RRULE:FREQ=DAILY;INTERVAL=0"), "RRULE"),
    "SECONDLY": (calendar(TEN, "DURATION:PT1H", "RRULE:FREQ=SECONDLY"), "RRULE"),
    "10^8 occurrences": (calendar(TEN, "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=100000000"), "RRULE"),
    "an unknown zone": (calendar("DTSTART;TZID=Middle Earth:20261210T100000", "DURATION:PT1H"), "DTSTART"),
    "an end before the start": (calendar(TEN, "DTEND:20261210T090000Z"), "DTEND"),
    "no calendar": ("times", ""),
}


@pytest.mark.parametrize("what", REFUSED_TABLES)
def test_a_table_with_a_fault_is_refused_as_a_whole(told: ToldPeople, project: Project, what: str) -> None:
    data, (row, column) = REFUSED_TABLES[what]
    output = refused(told, project, table(told, data))
    first = output["faults"][0]
    assert (first["row"], first["column"]) == (row, column), first
    assert first["why"]
    assert kept(told) == []


@pytest.mark.parametrize("what", REFUSED_CALENDARS)
def test_a_calendar_with_a_fault_is_refused_as_a_whole(told: ToldPeople, project: Project, what: str) -> None:
    text, column = REFUSED_CALENDARS[what]
    output = refused(told, project, events(told, text), collaborator_id=person_id(1))
    assert output["faults"][0]["column"] == column, output["faults"]
    assert kept(told) == []


def test_what_the_clocks_skip_and_two_calendars_in_a_file_are_taken(told: ToldPeople, project: Project) -> None:
    skipped = calendar("DTSTART;TZID=Europe/Berlin:20270328T023000", "DTEND;TZID=Europe/Berlin:20270328T033000")
    both = skipped + calendar(TEN, "DURATION:PT1H", uid="b@example.com")
    output = take(told, project, events(told, both), collaborator_id=person_id(1))
    assert (output["new"], output["ignored"]) == (1, {"without length": 1})


def test_all_faults_stand_in_an_artifact_and_the_first_in_the_output(told: ToldPeople, project: Project) -> None:
    bad = "".join(f"Nobody,2026-12-01 10:00,later,=1+{number},\n" for number in range(40))
    output = refused(told, project, table(told, TABLE + bad))
    assert (len(output["faults"]), output["left_out"]) == (50, 70)
    assert output["faults"][0] == {
        "row": 5, "column": "collaborator", "value": "Nobody", "why": "is the name or the id of nobody in the project",
    }  # fmt: skip
    text = kept_file(told, output, project.project_id).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == 120
    assert {one["value"] for one in rows if one["column"] == "kind"} >= {"'=1+0"}, "text stays text"


def test_no_cell_of_a_table_without_a_header_is_in_the_reason_of_the_failure(
    told: ToldPeople, project: Project
) -> None:
    file = table(told, "api_key=sk-live-0123456789,2026-12-01,2026-12-02\n")
    state, error = run(told, AvailabilityPayload(project_id=project.project_id, artifact_id=file.artifact_id))
    assert (state, error["code"]) == ("failed", "imports.refused")
    assert "the first in row 1, column 1: is no column" in error["reason"]
    assert "sk-live" not in error["reason"]


def test_a_dry_run_that_finds_faults_has_done_its_work(told: ToldPeople, project: Project) -> None:
    file = table(told, TABLE.replace("Person 1", "Nobody"))
    output = take(told, project, file, dry_run=True)
    assert (output["result"], output["faults"][0]["value"]) == ("refused", "Nobody")
    assert b"Nobody" in kept_file(told, output, project.project_id)


def test_nobody_gets_more_times_than_may_be(told: ToldPeople, project: Project) -> None:
    told.database.execute(
        "insert into availabilities (org_id, project_id, collaborator_id, kind, during)"
        " select %s, %s, %s, 'busy', tstzrange(t, t + interval '1 minute')"
        " from generate_series(now(), now() + %s * interval '1 hour', '1 hour') t",
        (project.org_id, project.project_id, person_id(1), MOST_AVAILABILITIES - 2),
    )
    assert refused(told, project, table(told))["faults"][0]["value"] == str(person_id(1))
    told.database.execute("delete from availabilities where ctid in (select ctid from availabilities limit 1)")
    assert take(told, project, table(told))["result"] == "imported"


def test_what_is_not_the_projects_is_not_read(told: ToldPeople, project: Project) -> None:
    """Another org's file, another project's, none; another project's person; bytes that have changed; no format."""
    mine, other = table(told), make_project(told.database, told.org_id)
    strangers = file_of(told, TABLE.encode(), "a.csv", "text/csv", make_org(told.database))
    others, altered, unknown = table(told), table(told), file_of(told, b"x", "times.bin", "application/octet-stream")
    told.database.execute("update artifacts set project_id = %s where id = %s", (other, others.artifact_id))
    lies = told.process.settings.artifacts_url.get_secret_value().removeprefix("file://")
    Path(lies, place_of(told.org_id, altered.artifact_id)).write_bytes(TABLE.replace("busy", "busi").encode())
    asked = {"project_id": project.project_id, "artifact_id": mine.artifact_id}
    for more, job_project, code in (
        ({"artifact_id": strangers.artifact_id}, None, "gone"),
        ({"artifact_id": others.artifact_id}, None, "gone"),
        ({"artifact_id": others.artifact_id}, project.project_id, "gone"),
        ({"artifact_id": uuid4()}, None, "gone"),
        ({"project_id": other, "collaborator_id": person_id(1)}, None, "gone"),
        ({"artifact_id": altered.artifact_id}, None, "artifacts.altered"),
        ({"artifact_id": unknown.artifact_id}, None, "invalid"),
        ({"format": "icalendar"}, None, "invalid"),
        ({"encoding": "utf-7"}, None, "invalid"),
        ({}, other, "invalid"),
    ):
        state, error = run(told, AvailabilityPayload(**asked | more), job_project)
        assert (state in {"failed", "dead"}, error.get("code")) == (True, code), (more, error)
    assert kept(told) == []

"""A plan leaves as a table or on paper (`exports.project_plan`): all of it, as it was at one moment, as an artifact."""

import csv
import io
import os
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pypdfium2
import pytest

from domain.jobs.failures import Invalid
from domain.jobs.job import SYSTEM_ORG
from domain.payloads.exports import ExportFormat, ProjectPlanPayload
from domain.payloads.maintenance import SweepArtifactsPayload
from domain.planning.files.artifacts import ORPHANED_AFTER
from domain.planning.files.csv_columns import read_field
from domain.planning.files.plan_paper import COLUMNS
from domain.planning.model import Plan
from engine.enqueue import enqueue
from storage.planning import run_sheets
from storage.planning.projects import Project
from tests.doubles.factories import make_org, make_project
from tests.doubles.planning.planning_jobs import kept_file, run, stored
from tests.doubles.planning.plans import given, person, person_id, place_id, places, slot, slot_id
from tests.doubles.stored_artifacts import files_in
from tests.doubles.told_people import ToldPeople

CREW = (person(1), person(2), person(3))
PLAN = Plan(
    (slot(1, 8, 12, place_id=place_id(1)), slot(2, 9, 11, headcount=5)),
    CREW,
    (given(1, 1), given(2, 2), given(2, 3)),
    travel=places(),
)


def export(told: ToldPeople, project: Project, wanted: ExportFormat, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a payload
    payload = ProjectPlanPayload(project_id=project.project_id, format=wanted, **more)
    state, output = run(told, payload, project.project_id)
    assert state == "succeeded", output
    return output


def rows(data: bytes) -> list[dict[str, Any]]:
    """The rows of a table as values."""
    head, *lines = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    assert head == [one.name for one in COLUMNS]
    return [
        {column.name: read_field(column, text) for column, text in zip(COLUMNS, line, strict=True)} for line in lines
    ]


def test_a_table_has_a_row_for_each_person_and_one_for_all_open_places(told: ToldPeople) -> None:
    project = stored(told, PLAN)
    output = export(told, project, "csv", zone="Asia/Tokyo")
    table = rows(kept_file(told, output, project.project_id))
    assert [(one["slot_id"], one["collaborator_id"], one["open_places"], one["place"]) for one in table] == [
        (slot_id(1), person_id(1), 0, "place 1"),
        (slot_id(2), person_id(2), 0, ""),
        (slot_id(2), person_id(3), 0, ""),
        (slot_id(2), None, 3, ""),
    ]
    assert {(one["run_sheet"], one["zone"]) for one in table} == {("Friday", "Asia/Tokyo")}
    for one in table:
        assert one["starts_at"].replace(tzinfo=None) == one["starts"], "both times are the zone's"
        assert one["starts_at"].utcoffset() == timedelta(hours=9)
    assert (output["slots"], output["revision"], output["format"]) == (2, 1, "csv")
    again = export(told, project, "csv", zone="Asia/Tokyo")
    assert (again["sha256"], again["artifact_id"] == output["artifact_id"]) == (output["sha256"], False)
    names = told.database.execute("select distinct name, media_type, kind from artifacts").fetchall()
    assert names == [("a festival, revision 1.csv", "text/csv", "plan")]


def test_names_that_a_spreadsheet_would_calculate_stay_text(told: ToldPeople) -> None:
    project = stored(told, replace(PLAN, assignments=(given(1, 1),)))
    told.database.execute("update collaborators set name = '=HYPERLINK(\"x\")'")
    told.database.execute("update projects set name = '../a/' || chr(9) || 'b'")
    output = export(told, project, "csv")
    data = kept_file(told, output, project.project_id)
    assert b"'=HYPERLINK" in data
    assert rows(data)[0]["collaborator"] == '=HYPERLINK("x")'
    assert told.database.execute("select name from artifacts").fetchall() == [("..-a--b, revision 1.csv",)]


def test_the_pages_say_the_plan_its_zone_and_its_revision(told: ToldPeople) -> None:
    project = stored(told, PLAN)
    told.database.execute("update slots set name = 'Ton \u4e2d' where id = %s", (slot_id(1),))
    output = export(told, project, "pdf", paper="a3")
    document = pypdfium2.PdfDocument(kept_file(told, output, project.project_id))
    words = " ".join(document[0].get_textpage().get_text_range().split())
    assert len(document) == 1
    for said in ("a festival", "Friday", "person 1", "place 1", "3 open", "clocks of UTC. Revision 1,"):
        assert said in words
    assert output["unprinted"] == ["U+4E2D"]
    assert round(document[0].get_width()) == 842, "the width of A3 in points"


def test_one_run_sheet_has_its_slots_and_its_revision_and_all_have_the_sum(told: ToldPeople) -> None:
    project = stored(told, PLAN)
    with told.process.database.ledger() as tx:
        other = run_sheets.add(tx, project.ref, "Saturday")
        run_sheets.add_slot(tx, project.ref, other.run_sheet_id, slot(9, 30, 31))
    told.database.execute("update run_sheets set revision = 7 where id = %s", (other.run_sheet_id,))
    alone = export(told, project, "csv", run_sheet_id=other.run_sheet_id)
    assert [one["run_sheet"] for one in rows(kept_file(told, alone, project.project_id))] == ["Saturday"]
    assert (alone["slots"], alone["revision"]) == (1, 7)
    whole = export(told, project, "csv")
    assert (whole["slots"], whole["revision"]) == (3, 8)


def test_more_slots_than_a_page_are_all_there(told: ToldPeople) -> None:
    project = stored(told, Plan(tuple(slot(number, number % 7, 8) for number in range(1100)), ()))
    output = export(told, project, "csv")
    table = rows(kept_file(told, output, project.project_id))
    assert {one["slot_id"] for one in table} == {slot_id(number) for number in range(1100)}
    assert len(table) == 1100
    progress = told.database.execute("select progress from jobs where job_type = 'exports.project_plan'").fetchone()
    assert progress == ({"slots": 1100, "rows": 1000},)


def test_what_is_not_the_projects_is_not_exported(told: ToldPeople) -> None:
    """The id of another org's project, of no project, of another project's run sheet; and a job of another project."""
    project, other = stored(told, PLAN), make_project(told.database, told.org_id)
    foreign = make_project(told.database, make_org(told.database))
    ((sheet,),) = told.database.execute("select id from run_sheets").fetchall()
    for payload, job_project, code in (
        (ProjectPlanPayload(project_id=foreign, format="csv"), None, "gone"),
        (ProjectPlanPayload(project_id=uuid4(), format="csv"), None, "gone"),
        (ProjectPlanPayload(project_id=other, format="csv", run_sheet_id=sheet), None, "gone"),
        (ProjectPlanPayload(project_id=project.project_id, format="csv"), other, "invalid"),
    ):
        state, error = run(told, payload, job_project)
        assert (state in {"failed", "dead"}, error["code"]) == (True, code), error
    assert told.database.execute("select count(*) from artifacts").fetchone() == (0,)


@pytest.mark.parametrize(
    ("field", "value"),
    [("format", "xlsx"), ("zone", "Middle/Earth"), ("zone", "../etc/passwd"), ("paper", "a0"), ("slots", 1)],
)
def test_a_wish_that_nobody_can_fulfil_is_refused_by_its_field(field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        ProjectPlanPayload.accept({"project_id": str(uuid4()), "format": "pdf", field: value}, 1)
    assert refused.value.field == f"payload.{field}"


def test_bytes_without_a_row_are_nobodys_and_are_swept(told: ToldPeople, tmp_path: Path) -> None:
    """The job dies between its bytes and its row, and its next attempt makes another file."""

    folder = tmp_path / "artifacts"
    project = stored(told, PLAN)
    told.database.execute(
        "create function die() returns trigger language plpgsql as $$ begin raise exception 'died'; end $$"
    )
    told.database.execute("create trigger die before insert on artifacts for each row execute function die()")
    state, _ = run(told, ProjectPlanPayload(project_id=project.project_id, format="csv"), project.project_id)
    assert state != "succeeded"
    (orphan,) = files_in(folder)
    told.database.execute("drop trigger die on artifacts")
    told.hurry()
    assert told.run_due("exports.%") == [("exports.project_plan", "succeeded")]
    for file in files_in(folder):
        os.utime(file, (time.time() - (ORPHANED_AFTER + timedelta(hours=1)).total_seconds(),) * 2)
    with told.process.database.ledger() as tx:
        (made,) = enqueue(tx, SweepArtifactsPayload(), org_id=SYSTEM_ORG)
    assert told.run(made.job_id) == "succeeded"
    ((artifact_id,),) = told.database.execute("select id from artifacts").fetchall()
    assert {one.name for one in files_in(folder)} == {str(artifact_id)}
    assert orphan.name != str(artifact_id)

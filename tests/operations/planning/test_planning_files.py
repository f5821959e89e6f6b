"""A plan leaves and times come in, by HTTP and at a terminal: the order is checked, and a job does the rest."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from commands.planning import planning
from domain.orgs.access.api_keys import Role
from domain.planning.model import Plan
from storage.planning.projects import Project
from tests.commands.calling import answer, refusal
from tests.doubles.factories import make_org, make_project
from tests.doubles.planning.planning_jobs import file_of, stored
from tests.doubles.planning.plans import given, person, person_id, slot
from tests.doubles.told_people import ToldPeople
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve

PLAN = Plan((slot(1, 8, 12),), (person(1),), (given(1, 1),))
TABLE = "collaborator,from,until\nperson 1,2026-12-01,2026-12-01\n"


@pytest.fixture
def door(told: ToldPeople) -> Iterator[str]:
    with serve(told.process.settings) as url:
        yield url


@pytest.fixture
def client(told: ToldPeople, door: str) -> Client:
    return client_of(told.process.database, door, told.org_id, Role.WRITER)


@pytest.fixture
def project(told: ToldPeople) -> Project:
    return stored(told, PLAN)


def output_of(told: ToldPeople, job_id: str) -> dict[str, Any]:
    assert told.run(UUID(job_id)) == "succeeded"
    row = told.database.execute("select output from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    return dict(row[0])


def test_an_export_is_ordered_by_http_and_its_file_is_read_by_a_link(
    told: ToldPeople, client: Client, project: Project
) -> None:
    said = client.post(f"/v1/projects/{project.project_id}/exports", {"format": "pdf"})
    assert said.status == 202, said.body
    ((job_project, audited),) = told.database.execute(
        "select j.project_id, a.data from jobs j, audit_entries a where a.event = 'plan.export_ordered' and j.id = %s",
        (said.json["job_id"],),
    ).fetchall()
    assert job_project == project.project_id
    assert (audited["job_id"], audited["format"]) == (said.json["job_id"], "pdf")
    output = output_of(told, said.json["job_id"])
    shown = client.get(f"/v1/artifacts/{output['artifact_id']}").json
    assert (shown["media_type"], shown["sha256"], shown["project_id"]) == (
        "application/pdf",
        output["sha256"],
        str(project.project_id),
    )
    assert client.post(f"/v1/artifacts/{output['artifact_id']}/link").json["url"]


def test_a_table_is_stored_and_imported_by_http(told: ToldPeople, client: Client, project: Project) -> None:
    file = file_of(told, TABLE.encode(), "times.csv", "text/csv")
    path, asked = f"/v1/projects/{project.project_id}/imports", {"artifact_id": str(file.artifact_id)}
    for dry_run, new in ((True, 1), (False, 1), (False, 0)):
        said = client.post(path, {**asked, "dry_run": dry_run})
        assert said.status == 202, said.body
        assert output_of(told, said.json["job_id"])["new"] == new
    listed = client.get(f"/v1/projects/{project.project_id}/collaborators/{person_id(1)}/availabilities").json
    assert [one["source"] for one in listed["availabilities"]] == ["times.csv"]


def test_a_file_at_a_terminal_is_stored_and_imported(told: ToldPeople, project: Project, tmp_path: Path) -> None:
    file = tmp_path / "ada.ics"
    event = "BEGIN:VEVENT\nUID:a\nDTSTART:20261210T100000Z\nDURATION:PT1H\nEND:VEVENT\n"
    file.write_text(f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{event}END:VCALENDAR\n")
    words = (project.project_id, file, "--org", told.org_id, "--as", "ada")
    assert "collaborator_id" in refusal(planning, "import-file", *words)
    made = answer(planning, "import-file", *words, "--collaborator-id", person_id(1), "--zone", "Europe/Berlin")
    output = output_of(told, made["job_id"])
    assert (output["result"], output["new"], output["source"]) == ("imported", 1, "ada.ics")
    (line,) = answer(planning, "availabilities", project.project_id, person_id(1), "--org", told.org_id)
    assert line["source"] == "ada.ics"
    exported = answer(planning, "export", project.project_id, "--org", told.org_id, "--format", "csv", "--as", "ada")
    assert output_of(told, exported["job_id"])["revision"] == 1


def test_an_order_that_nobody_can_fulfil_is_refused_by_its_field(
    told: ToldPeople, client: Client, project: Project
) -> None:
    mine = f"/v1/projects/{project.project_id}"
    other = make_project(told.database, told.org_id)
    good, calendar = (
        file_of(told, TABLE.encode(), name, kind) for name, kind in (("a.csv", "text/csv"), ("a.ics", "text/calendar"))
    )
    strange = file_of(told, b"x", "a.csv", "text/csv", make_org(told.database))
    others, unnamed, hand = (file_of(told, b"x", name, "application/x") for name in ("a.csv", "times", "hand"))
    told.database.execute("update artifacts set project_id = %s where id = %s", (other, others.artifact_id))
    ended = file_of(told, b"x", "a.csv", "text/csv")
    told.database.execute("update artifacts set expires_at = now() where id = %s", (ended.artifact_id,))
    named = {"artifact_id": str(good.artifact_id)}
    for path, asked, field in (
        (f"{mine}/exports", {"format": "xlsx"}, "format"),
        (f"{mine}/exports", {}, "format"),
        (f"{mine}/exports", {"format": "csv", "zone": "Middle/Earth"}, "zone"),
        (f"{mine}/imports", {}, "artifact_id"),
        (f"{mine}/imports", named | {"encoding": "utf-7"}, "encoding"),
        (f"{mine}/imports", named | {"zone": "Middle/Earth"}, "zone"),
        (f"{mine}/imports", named | {"source": "hand"}, "source"),
        (f"{mine}/imports", {"artifact_id": str(hand.artifact_id), "format": "csv"}, "source"),
        (f"{mine}/imports", {"artifact_id": str(unnamed.artifact_id)}, "format"),
        (f"{mine}/imports", {"artifact_id": str(calendar.artifact_id)}, "collaborator_id"),
        *(
            (f"{mine}/imports", {"artifact_id": str(one)}, "artifact_id")
            for one in (strange.artifact_id, others.artifact_id, ended.artifact_id, uuid4())
        ),
    ):
        said = client.post(path, asked)
        assert said.status == 422, (path, asked, said.body)
        assert field in said.json["field"], (path, asked, said.json)
    assert told.database.execute("select count(*) from jobs").fetchone() == (0,)


def test_another_projects_id_is_not_found(told: ToldPeople, client: Client, project: Project) -> None:
    """Another org's project; and another project's run sheet and person."""
    foreign, other = make_project(told.database, make_org(told.database)), make_project(told.database, told.org_id)
    file = str(file_of(told, TABLE.encode(), "a.csv", "text/csv").artifact_id)
    ((sheet,),) = told.database.execute("select id from run_sheets").fetchall()
    asked = [
        (f"{foreign}/exports", {"format": "csv"}),
        (f"{foreign}/imports", {"artifact_id": file}),
        (f"{other}/exports", {"format": "csv", "run_sheet_id": str(sheet)}),
        (f"{other}/imports", {"artifact_id": file, "collaborator_id": str(person_id(1))}),
    ]
    assert [client.post(f"/v1/projects/{path}", facts).status for path, facts in asked] == [404] * len(asked)
    reader = client_of(told.process.database, client.url, told.org_id, Role.READER)
    assert reader.post(f"/v1/projects/{project.project_id}/exports", {"format": "csv"}).status == 403

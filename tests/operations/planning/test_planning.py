"""Projects, run sheets and what stands in them, by command and by HTTP."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from commands.operations import AREAS
from domain.notifications.built_in import ALERT
from domain.orgs.access.api_keys import Role
from storage.notifications import notifications
from storage.notifications.notifications import NotificationRequest
from tests.commands.calling import answer
from tests.doubles.factories import make_org, make_project
from tests.doubles.told_people import ToldPeople
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve

DAY = "2026-05-01T"


@pytest.fixture
def door(told: ToldPeople) -> Iterator[str]:
    with serve(told.process.settings) as url:
        yield url


@pytest.fixture
def client(told: ToldPeople, door: str) -> Client:
    return client_of(told.process.database, door, told.org_id, Role.WRITER)


def events(told: ToldPeople, like: str) -> list[Any]:
    query = "select event, data from audit_entries where event like %s order by id"
    return told.database.execute(query, (like,)).fetchall()


def made(client: Client, path: str, **facts: object) -> dict[str, Any]:
    said = client.post(path, facts)
    assert said.status == 201, said.body
    return dict(said.json)


def a_project(client: Client) -> str:
    return f"/v1/projects/{made(client, '/v1/projects', name='Festival', zone='Europe/Berlin')['project_id']}"


def test_a_project_is_filled_by_http_and_read_at_a_terminal(client: Client, told: ToldPeople) -> None:
    project = a_project(client)
    stage = made(client, f"{project}/places", name="Stage", latitude=52.5, longitude=13.4)
    hotel = made(client, f"{project}/places", name="Hotel", minutes_to={stage["place_id"]: 20})
    assert hotel["minutes_to"] == {stage["place_id"]: 20}
    ada = made(client, f"{project}/collaborators", name="Ada", skills=["sound"], home_id=hotel["place_id"])
    person = f"{project}/collaborators/{ada['collaborator_id']}"
    assert client.change(person, {"skills": ["light", "sound"]}).json["skills"] == ["light", "sound"]
    times = {"kind": "busy", "starts_at": f"{DAY}08:00:00+02:00", "ends_at": f"{DAY}10:00:00+02:00"}
    busy = made(client, f"{person}/availabilities", **times)
    assert (busy["starts_at"], busy["source"]) == (f"{DAY}06:00:00Z", "hand")
    assert [one["kind"] for one in client.get(f"{person}/availabilities").json["availabilities"]] == ["busy"]
    removed = client.delete(f"{person}/availabilities/{busy['availability_id']}")
    assert removed.json["availability_id"] == busy["availability_id"]
    org = ("--org", told.org_id)
    (shown,) = answer(AREAS.planning, "projects", *org)
    assert shown["zone"] == "Europe/Berlin"
    (listed,) = answer(AREAS.planning, "collaborators", shown["project_id"], *org)
    assert listed["skills"] == ["light", "sound"]
    assert {event for event, _ in events(told, "%.%")} >= {"project.added", "place.added", "availability.removed"}


def test_each_change_of_a_run_sheet_has_a_revision_and_an_event(client: Client, told: ToldPeople) -> None:
    project = a_project(client)
    ada = made(client, f"{project}/collaborators", name="Ada", user_id=str(told.user_id))["collaborator_id"]
    sheet = made(client, f"{project}/run-sheets", name="Friday")
    path = f"{project}/run-sheets/{sheet['run_sheet_id']}"
    times = {"starts_at": f"{DAY}08:00:00+02:00", "ends_at": f"{DAY}10:00:00+02:00"}
    slot = made(client, f"{path}/slots", name="Load-in", headcount=2, **times)
    assert slot["revision"] == 2
    of_slot = f"{path}/slots/{slot['slot_id']}"
    assert client.put(f"{of_slot}/people/{ada}", {"is_pinned": True}).json["revision"] == 3
    assert client.put(f"{of_slot}/people/{ada}", {"is_pinned": True}).json["revision"] == 3, "nothing has changed"
    assert client.change(of_slot, {"ends_at": f"{DAY}11:00:00+02:00"}).json["revision"] == 4
    (listed,) = client.get(f"{path}/slots").json["slots"]
    assert listed["people"] == [{"collaborator_id": ada, "name": "Ada", "is_pinned": True}]
    assert client.change(path, {"name": "Saturday"}).json["revision"] == 5
    assert client.delete(f"{of_slot}/people/{ada}").json["revision"] == 6
    assert client.delete(f"{of_slot}/people/{ada}").status == 404
    assert client.delete(of_slot).json["revision"] == 7
    changes = [data for event, data in events(told, "run_sheet.changed")]
    assert [one["revision"] for one in changes] == [2, 3, 4, 5, 6, 7]
    moved = changes[2]
    was, has = (moved[name]["slots"][slot["slot_id"]] for name in ("before", "after"))
    assert (was["ends_at"], has["ends_at"]) == (f"{DAY}08:00:00+00:00", f"{DAY}09:00:00+00:00")
    assert has["people"] == {ada: {"name": "Ada", "is_pinned": True}}
    assert changes[3]["before"] == {"name": "Friday", "slots": {}}
    asked = told.database.execute("select data ->> 'body' from notifications order by asked_at, id").fetchall()
    assert [row[0] for row in asked] == [
        "New: Load-in, 2026-05-01 08:00 to 10:00",
        "Changed: Load-in, 2026-05-01 08:00 to 11:00 (was: Load-in, 2026-05-01 08:00 to 10:00)",
        "No longer: Load-in, 2026-05-01 08:00 to 11:00",
    ]


def test_a_mistake_is_named_by_its_field(client: Client) -> None:
    project = a_project(client)
    sheet = made(client, f"{project}/run-sheets", name="Friday")["run_sheet_id"]
    slots = f"{project}/run-sheets/{sheet}/slots"
    times = {"name": "x", "starts_at": f"{DAY}10:00:00Z", "ends_at": f"{DAY}12:00:00Z"}
    busy = {"kind": "busy", "starts_at": f"{DAY}10:00:00Z", "ends_at": f"{DAY}10:00:00Z"}
    ada = made(client, f"{project}/collaborators", name="Ada")["collaborator_id"]
    for path, facts, field in (
        ("/v1/projects", {"name": "x", "zone": "Middle/Earth"}, "zone"),
        ("/v1/projects", {"name": " "}, "name"),
        (f"{project}/places", {"name": "x", "latitude": 91, "longitude": 0}, "latitude"),
        (f"{project}/places", {"name": "x", "latitude": 1}, "latitude"),
        (f"{project}/places", {"name": "x", "minutes_to": {str(uuid4()): 1}}, "minutes_to"),
        (f"{project}/collaborators", {"name": "x", "user_id": str(uuid4())}, "user_id"),
        (f"{project}/collaborators", {"name": "x", "home_id": str(uuid4())}, "home_id"),
        (f"{project}/collaborators/{ada}/availabilities", busy, "ends_at"),
        (slots, times | {"ends_at": f"{DAY}09:00:00Z"}, "ends_at"),
        (slots, times | {"starts_at": f"{DAY}09:00:00"}, "starts_at"),
        (slots, times | {"starts_at": "0001-01-01T00:00:00+14:00"}, "starts_at"),
        (slots, times | {"headcount": 101}, "headcount"),
        (slots, times | {"place_id": str(uuid4())}, "place_id"),
        (slots, times | {"skills": ["Sound"]}, "skills"),
    ):
        said = client.post(path, facts)
        assert said.status == 422, (path, facts, said.body)
        assert field in said.json["field"], (path, facts, said.json)
    assert client.change(project, {}).json["field"] == "name"


def test_another_projects_id_finds_nothing(client: Client, told: ToldPeople) -> None:
    """Neither a project of another org, nor what stands in another project of the org."""
    foreign = f"/v1/projects/{make_project(told.database, make_org(told.database))}"
    mine, other = a_project(client), a_project(client)
    sheet = made(client, f"{other}/run-sheets", name="Friday")["run_sheet_id"]
    times = {"name": "x", "starts_at": f"{DAY}10:00:00Z", "ends_at": f"{DAY}12:00:00Z"}
    slot = made(client, f"{other}/run-sheets/{sheet}/slots", **times)["slot_id"]
    place = made(client, f"{other}/places", name="Stage")["place_id"]
    ada = made(client, f"{other}/collaborators", name="Ada")["collaborator_id"]
    own = made(client, f"{mine}/run-sheets", name="Friday")["run_sheet_id"]
    own_slot = made(client, f"{mine}/run-sheets/{own}/slots", **times)["slot_id"]
    gone = [
        client.get(foreign),
        client.change(foreign, {"name": "x"}),
        client.post(f"{foreign}/places", {"name": "x"}),
        client.get(f"{foreign}/run-sheets"),
        client.get(f"{mine}/run-sheets/{sheet}"),
        client.get(f"{mine}/run-sheets/{sheet}/slots"),
        client.post(f"{mine}/run-sheets/{sheet}/slots", times),
        client.delete(f"{mine}/run-sheets/{sheet}/slots/{slot}"),
        client.delete(f"{mine}/run-sheets/{own}/slots/{slot}"),
        client.change(f"{mine}/places/{place}", {"name": "x"}),
        client.change(f"{mine}/collaborators/{ada}", {"name": "x"}),
        client.get(f"{mine}/collaborators/{ada}/availabilities"),
        client.put(f"{mine}/run-sheets/{own}/slots/{own_slot}/people/{ada}", {}),
    ]
    assert [said.status for said in gone] == [404] * len(gone)
    placed = client.post(f"{mine}/run-sheets/{own}/slots", times | {"place_id": place})
    assert (placed.status, placed.json["field"]) == (422, "place_id")


def test_a_job_of_another_project_reads_nothing_of_a_plan(client: Client, told: ToldPeople) -> None:
    """Neither where the plan stands, nor from the log of who changed it, nor from what people are told of it."""
    other = make_project(told.database, told.org_id)
    mine = UUID(a_project(client).rpartition("/")[2])
    path = f"/v1/projects/{mine}"
    ada = made(client, f"{path}/collaborators", name="Ada", user_id=str(told.user_id))["collaborator_id"]
    sheet = made(client, f"{path}/run-sheets", name="Friday")["run_sheet_id"]
    times = {"starts_at": f"{DAY}08:00:00Z", "ends_at": f"{DAY}10:00:00Z"}
    slot = made(client, f"{path}/run-sheets/{sheet}/slots", name="Load-in", **times)["slot_id"]
    assert client.put(f"{path}/run-sheets/{sheet}/slots/{slot}/people/{ada}", {}).status == 200
    told.run_due()
    logged = told.database.execute("select project_id from audit_entries where data ? 'project_id'").fetchall()
    assert len(logged) >= 5
    assert set(logged) == {(mine,)}
    read = ("audit_entries where data ? 'project_id'", "notifications", "deliveries", "inbox_items")
    with told.process.database.tenant(told.org_id) as tx:
        assert [what for what in read if not tx.raw(f"select org_id from {what}")] == []
    with told.process.database.tenant(told.org_id, other) as tx:
        assert [what for what in read if tx.raw(f"select org_id from {what}")] == []


def test_what_a_job_of_a_project_tells_people_is_sent_by_jobs_of_the_org(told: ToldPeople) -> None:
    """A digest has words of several projects; what else the job enqueues is of its project, as before."""
    project = make_project(told.database, told.org_id)
    with told.process.database.tenant(told.org_id, project) as tx:
        request = NotificationRequest(told.user_id, ALERT, {"title": "Rain", "text": "It rains."})
        asked = notifications.notify(tx, told.org_id, request)
        assert asked.refusal is None
        assert tx.raw("select postroom.current_project() as it")[0].it == project
    query = "select project_id from jobs where job_type = 'notifications.deliver'"
    assert told.database.execute(query).fetchall() == [(None,)]
    assert {end for _, end in told.run_due()} == {"succeeded"}
    assert told.inbox() == ["Rain"]

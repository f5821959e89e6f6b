"""Operators add, list, pause, resume and remove schedules."""

from uuid import UUID

import pytest
from psycopg import Connection

from commands.operations import AREAS
from tests.commands.calling import answer, call, refusal
from tests.doubles import probe_jobs  # noqa: F401  # its job types are what the schedules name
from tests.gateway.api.conftest import Client

pytestmark = pytest.mark.usefixtures("process")
schedules = AREAS.schedules
ADD = ("add", "nightly", "--type", "probe_jobs.ending", "--zone", "Europe/Berlin", "--payload", '{"word": "hello"}')


def test_a_schedule_from_its_beginning_to_its_end(org: UUID) -> None:
    made = answer(schedules, *ADD, "--org", org, "--cron", "30 3 * * *", "--missed", "run_once", "--as", "ada")
    assert (made["job_type"], made["payload"], made["created_by"]) == (
        "probe_jobs.ending",
        {"word": "hello"},
        "operator:ada",
    )
    assert [row["name"] for row in answer(schedules, "list", "--org", org)] == ["nightly"]
    assert not answer(schedules, "pause", "nightly", "--org", org)["enabled"]
    assert answer(schedules, "resume", "nightly", "--org", org)["enabled"]
    assert "30 3 * * *" in call(schedules, "list").output
    answer(schedules, "remove", "nightly", "--org", org)
    assert answer(schedules, "list") == []
    assert "no schedule nightly" in refusal(schedules, "remove", "nightly", "--org", org)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cron", "soon"), "cron: needs five fields"),
        (("--cron", "0 0 30 2 *"), "cron: Bad day-of-month"),
        (("--cron", "0 0 * * *", "--zone", "Mars"), "zone: Mars is no time zone"),
        (("--cron", "0 0 * * *", "--type", "no.pe"), "no.pe is no known job type"),
        (("--cron", "0 0 * * *", "--payload", '{"wrod": "x"}'), "payload.wrod"),
    ],
)
def test_a_schedule_that_could_never_run_is_refused(org: UUID, options: tuple[str, ...], words: str) -> None:
    assert words in refusal(schedules, *ADD, "--org", org, *options)
    assert answer(schedules, "list") == []


@pytest.mark.parametrize("name", ["", "n" * 101])
def test_a_name_of_a_wrong_length_is_refused_with_what_is_allowed(org: UUID, name: str) -> None:
    assert "name: " in refusal(schedules, "add", name, *ADD[2:], "--org", org, "--cron", "0 0 * * *")


def test_an_org_keeps_its_schedules_over_http(client: Client, stranger: Client, database: Connection) -> None:
    wanted = {"name": "nightly", "job_type": "probe_jobs.ending", "cron": "30 3 * * *", "payload": {"word": "hello"}}
    made = client.post("/v1/schedules", wanted)
    assert (made.status, made.json["name"], made.json["org_id"]) == (200, "nightly", str(client.org_id))
    assert client.post("/v1/schedules", wanted).json["code"] == "conflict"
    assert [one["name"] for one in client.get("/v1/schedules").json["schedules"]] == ["nightly"]
    assert stranger.get("/v1/schedules").json == {"schedules": [], "next_cursor": None}
    assert stranger.post("/v1/schedules/nightly/pause").status == 404
    assert client.post("/v1/schedules/nightly/pause").json["enabled"] is False
    assert client.post("/v1/schedules/nightly/resume").json["enabled"] is True
    assert client.delete("/v1/schedules/nightly").status == 200
    assert client.delete("/v1/schedules/nightly").json["code"] == "gone"
    rows = database.execute("select event, actor_id from audit_entries where event like 'schedule.%' order by id")
    events = ("added", "paused", "resumed", "removed")
    assert rows.fetchall() == [(f"schedule.{event}", str(client.key_id)) for event in events]


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"job_type": "maintenance.full_sync"}, 403, None),
        ({"job_type": "no.pe"}, 422, "job_type"),
        ({"cron": "soon"}, 422, "cron"),
        ({"payload": {"word": 5}}, 422, "payload.word"),
        ({"name": "n" * 101}, 422, "name"),
        ({"extra": 1}, 422, "extra"),
    ],
)
def test_a_schedule_that_an_org_may_not_have_is_refused(
    client: Client, change: dict[str, object], status: int, field: str | None
) -> None:
    answered = client.post(
        "/v1/schedules", {"name": "n", "job_type": "probe_jobs.ending", "cron": "0 0 * * *"} | change
    )
    assert (answered.status, answered.json.get("field")) == (status, field)
    assert client.get("/v1/schedules").json["schedules"] == []


def test_pages_of_schedules_follow_each_other(client: Client) -> None:
    for name in ("c", "a", "b"):
        client.post("/v1/schedules", {"name": name, "job_type": "probe_jobs.noop", "cron": "0 0 * * *"})
    first = client.get("/v1/schedules?limit=2").json
    rest = client.get(f"/v1/schedules?limit=2&cursor={first['next_cursor']}").json
    assert [one["name"] for one in (*first["schedules"], *rest["schedules"])] == ["a", "b", "c"]

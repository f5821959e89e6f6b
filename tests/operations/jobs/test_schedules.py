"""Operators add, list, pause, resume and remove schedules."""

from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from engine.relay.due_schedules import DueSchedules
from engine.runtime import Runtime
from operations.pages import write_cursor
from storage.postgres.database import Database
from tests.commands.calling import answer, call, refusal
from tests.doubles import probe_jobs  # noqa: F401  # its job types are what the schedules name
from tests.doubles.factories import make_org
from tests.doubles.mail_factories import make_account
from tests.gateway.api.conftest import Client

pytestmark = pytest.mark.usefixtures("process")
schedules = AREAS.schedules
WANTED = {"job_type": "probe_jobs.noop", "cron": "0 0 * * *"}
ADD = ("add", "nightly", "--job-type", "probe_jobs.ending", "--zone", "Europe/Berlin", "--payload", '{"word": "hello"}')


UNREACHABLE = ["a/b", "/", ".", "..", ".hidden", "../..", " a", "a\nb", "a\tb", "a\x7f", "a\x00b", "\x00"]
REACHABLE = [
    *("Every day at 8:30?", "a%2Fb", "a..b", "50 %", "a\\b", "#1", "a;b=c&d", "pause"),
    *("\u4fdd" * 100, "\U0001f600" * 100, '"' * 100),
]


def test_a_schedule_from_its_beginning_to_its_end(org: UUID) -> None:
    made = answer(schedules, *ADD, "--org", org, "--cron", "30 3 * * *", "--missed", "run_once", "--as", "ada")
    assert (made["job_type"], made["payload"], made["created_by"]) == (
        "probe_jobs.ending",
        {"word": "hello", "account_id": "a"},
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
        (("--cron", "0 0 * * *", "--job-type", "no.pe"), "no.pe is no known job type"),
        (("--cron", "0 0 * * *", "--payload", '{"wrod": "x"}'), "payload.wrod"),
    ],
)
def test_a_schedule_that_could_never_run_is_refused(org: UUID, options: tuple[str, ...], words: str) -> None:
    assert words in refusal(schedules, *ADD, "--org", org, *options)
    assert answer(schedules, "list") == []


def test_a_schedule_belongs_to_a_person_whose_clock_it_follows(org: UUID, database: Connection) -> None:
    owner, zone = make_user(database, org), "America/New_York"
    add = (*ADD[:4], *ADD[6:], "--org", org, "--cron", "30 3 * * *")
    assert (answer(schedules, *add)["owner_id"], answer(schedules, "list")[0]["zone"]) == (None, "UTC")
    for name, options in {"own": (), "other": ("--zone", "Europe/Berlin")}.items():
        made = answer(schedules, "add", name, *add[2:], "--owner-id", owner, *options)
        assert (made["owner_id"], made["zone"]) == (str(owner), options[-1] if options else zone)
    for stranger in (uuid4(), make_user(database, make_org(database, "another org"))):
        assert "owner_id: names nobody of the org" in refusal(schedules, "add", "no", *add[2:], "--owner-id", stranger)


def make_user(database: Connection, org: UUID) -> UUID:
    query = "insert into users (org_id, email, zone) values (%s, 'ada@example.com', 'America/New_York') returning id"
    row = database.execute(query, (org,)).fetchone()
    assert row is not None
    return UUID(str(row[0]))


AGENT: dict[str, Any] = {
    "name": "brief",
    "job_type": "agent_invocation",
    "cron": "0 7 * * *",
    "payload": {"agent_name": "brief"},
}


def test_ac_21_the_schedule_of_an_agent_enqueues_its_invocation(
    client: Client, store: Database, database: Connection
) -> None:
    account = make_account(store, org=str(client.org_id))
    made = client.post("/v1/schedules", AGENT | {"owner_id": str(account.user_id)})
    assert (made.status, made.json["job_type"], made.json["owner_id"]) == (201, "agents.invoke", str(account.user_id))
    payload = made.json["payload"]
    assert (payload["schedule_id"], payload["account_id"], payload["profile"]) == (
        made.json["schedule_id"],
        str(account.account_id),
        "brief",
    )
    of_nobody = client.post("/v1/schedules", AGENT | {"name": "no one's"})
    assert (of_nobody.json["payload"]["account_id"], of_nobody.json["owner_id"]) == (None, None)
    alone = make_user(database, client.org_id)
    without = client.post("/v1/schedules", AGENT | {"name": "no mailbox", "owner_id": str(alone)})
    assert (without.json["payload"]["account_id"], without.json["zone"]) == (None, "America/New_York")
    make_account(store, org=str(client.org_id), email="second@example.com")
    database.execute("update accounts set user_id = %s", (account.user_id,))
    for change, field in (
        ({"owner_id": str(account.user_id)}, "payload.user_id"),
        ({"owner_id": str(uuid4())}, "owner_id"),
        ({"payload": AGENT["payload"] | {"id": str(uuid4())}}, "payload.schedule_id"),
        ({"payload": {}}, "payload.profile"),
        ({"payload": AGENT["payload"] | {"user_id": str(uuid4())}}, "payload.user_id"),
        ({"payload": AGENT["payload"] | {"config": {"model": "x"}}}, "payload.config.model"),
    ):
        answered = client.post("/v1/schedules", AGENT | {"name": "refused"} | change)
        assert (answered.status, answered.json.get("field")) == (422, field), answered.json


@pytest.mark.parametrize("name", ["", "n" * 101, "a/b"])
def test_a_name_that_no_path_could_carry_is_refused(org: UUID, name: str) -> None:
    assert "name: " in refusal(schedules, "add", name, *ADD[2:], "--org", org, "--cron", "0 0 * * *")


def test_an_org_keeps_its_schedules_over_http(client: Client, stranger: Client, database: Connection) -> None:
    wanted = {"name": "nightly", "job_type": "probe_jobs.ending", "cron": "30 3 * * *", "payload": {"word": "hello"}}
    made = client.post("/v1/schedules", wanted)
    assert (made.status, made.json["name"], made.json["org_id"]) == (201, "nightly", str(client.org_id))
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


def test_a_schedule_is_reached_by_any_name_that_was_accepted(client: Client) -> None:
    client.post("/v1/schedules", WANTED | {"name": "\U0010fffe"})
    for name in REACHABLE:
        path = f"/v1/schedules/{quote(name, safe='')}"
        assert client.post("/v1/schedules", WANTED | {"name": name}).status == 201, name
        first = client.get("/v1/schedules?limit=1").json
        assert [one["name"] for one in first["schedules"]] == [name]
        rest = client.get(f"/v1/schedules?cursor={first['next_cursor']}").json
        assert [one["name"] for one in rest["schedules"]] == ["\U0010fffe"]
        for verb in ("pause", "resume"):
            assert client.post(f"{path}/{verb}").json["name"] == name
        assert client.delete(path).status == 200


def test_a_name_is_refused_by_its_field_wherever_it_is_given(client: Client) -> None:
    for name in UNREACHABLE:
        made = client.post("/v1/schedules", WANTED | {"name": name})
        assert (made.status, made.json["field"]) == (422, "name"), name
    for name in ("a\x00b", "\x00", "a\nb"):
        path = f"/v1/schedules/{quote(name)}"
        for answered in (client.post(f"{path}/pause"), client.post(f"{path}/resume"), client.delete(path)):
            assert (answered.status, answered.json["field"]) == (422, "name")
    cursor = write_cursor((client.org_id, "a\x00b"))
    refused = client.get(f"/v1/schedules?cursor={cursor}")
    assert (refused.status, refused.json["field"]) == (422, "cursor")


def test_a_schedule_names_its_account_as_the_ledger_writes_ids(
    client: Client, store: Database, database: Connection
) -> None:
    """A reconnection finds an account's schedules by the text of its id."""
    account_id = str(make_account(store, org=str(client.org_id)).account_id)
    wanted = {"job_type": "gmail.sync_labels", "cron": "0 0 * * *"}
    for written in (account_id.upper(), account_id.replace("-", ""), f"urn:uuid:{account_id}", f"{{{account_id}}}"):
        made = client.post("/v1/schedules", wanted | {"name": written, "payload": {"account_id": written}})
        assert made.json["payload"]["account_id"] == account_id, made.json
    assert database.execute("select distinct payload ->> 'account_id' from schedules").fetchall() == [(account_id,)]


def test_pages_of_schedules_follow_each_other(client: Client) -> None:
    for name in ("c", "a", "b"):
        client.post("/v1/schedules", {"name": name, "job_type": "probe_jobs.noop", "cron": "0 0 * * *"})
    first = client.get("/v1/schedules?limit=2").json
    rest = client.get(f"/v1/schedules?limit=2&cursor={first['next_cursor']}").json
    assert [one["name"] for one in (*first["schedules"], *rest["schedules"])] == ["a", "b", "c"]


def test_a_schedule_runs_now_and_the_list_says_how_its_latest_job_ended(
    client: Client, database: Connection, process: Runtime
) -> None:
    client.post("/v1/schedules", WANTED | {"name": "nightly"})
    client.post("/v1/schedules/nightly/pause")
    made = client.post("/v1/schedules/nightly/run")
    assert (made.status, made.json["name"]) == (202, "nightly")
    assert client.get(f"/v1/jobs/{made.json['job_id']}").json["job_type"] == "probe_jobs.noop"
    assert client.post("/v1/schedules/hourly/run").status == 404
    (listed,) = client.get("/v1/schedules").json["schedules"]
    assert (listed["last_job_id"], listed["last_job_state"]) == (None, None)
    client.post("/v1/schedules/nightly/resume")
    database.execute("update schedules set next_run_at = date_trunc('minute', now())")
    DueSchedules(process).turn()
    (listed,) = client.get("/v1/schedules").json["schedules"]
    assert (listed["last_job_state"], listed["last_job_id"] != made.json["job_id"]) == ("queued", True)

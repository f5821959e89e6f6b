"""Reminders by command and by HTTP."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from commands.operations import AREAS
from domain.orgs.access.api_keys import Role
from storage.notifications import reminders
from tests.commands.calling import answer, refusal
from tests.doubles.factories import make_org
from tests.doubles.told_people import ToldPeople
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve

COMMANDS = AREAS.reminders
TITLE = {"title": "Water the plants", "at": "2036-07-01T09:00"}


@pytest.fixture
def door(told: ToldPeople) -> Iterator[str]:
    with serve(told.process.settings) as url:
        yield url


@pytest.fixture
def client(told: ToldPeople, door: str) -> Client:
    return client_of(told.process.database, door, told.org_id, Role.WRITER)


def events(told: ToldPeople) -> list[str]:
    rows = told.database.execute("select event, data from audit_entries where event like 'reminder.%' order by id")
    found = rows.fetchall()
    assert not any("Water" in str(data) for _, data in found), "the words are the person's"
    return [event for event, _ in found]


def test_a_reminder_from_its_beginning_to_its_end_by_command(told: ToldPeople) -> None:
    org = ("--org", told.org_id)
    made = answer(
        COMMANDS, "add", *org, "--user-id", told.user_id, "--title", "Water the plants", "--at", "2036-07-01T09:00",
        "--zone", "Europe/Berlin", "--rule", "freq=daily;count=9", "--as", "ada",
    )  # fmt: skip
    assert (made["due_at"], made["rule"]) == ("2036-07-01T07:00:00Z", "FREQ=DAILY;COUNT=9")
    name = made["reminder_id"]
    assert [one["reminder_id"] for one in answer(COMMANDS, "list", *org)] == [name]
    assert answer(COMMANDS, "list", *org, "--user-id", uuid4()) == []
    moved = answer(COMMANDS, "edit", name, *org, "--zone", "Asia/Tokyo", "--rule", "")
    assert (moved["due_at"], moved["at"], moved["rule"]) == ("2036-07-01T00:00:00Z", "2036-07-01T09:00:00", None)
    until = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    late = answer(COMMANDS, "snooze", name, *org, "--until", until.isoformat())
    assert datetime.fromisoformat(late["due_at"]) == datetime.fromisoformat(late["snoozed_until"]) == until
    assert answer(COMMANDS, "done", name, *org)["state"] == "done"
    assert "until" not in refusal(COMMANDS, "snooze", name, *org, "--until", until.isoformat())
    assert answer(COMMANDS, "show", name, *org)["occurrence"] == 4
    answer(COMMANDS, "delete", name, *org)
    assert answer(COMMANDS, "list", *org) == []
    assert "there is no reminder" in refusal(COMMANDS, "done", name, *org)
    assert events(told) == [f"reminder.{one}" for one in ("added", "edited", "snoozed", "done", "deleted")]


def test_reminders_by_http_are_the_orgs_own_and_a_repeated_request_makes_one(
    told: ToldPeople, client: Client, door: str
) -> None:
    key, body = {"Idempotency-Key": "a key"}, TITLE | {"user_id": str(told.user_id), "zone": "Europe/Berlin"}
    made, again = (client.post("/v1/reminders", body, key) for _ in range(2))
    assert (made.status, again.status, again.json) == (201, 200, made.json)
    assert made.json["due_at"] == "2036-07-01T07:00:00Z"
    path = f"/v1/reminders/{made.json['reminder_id']}"
    stranger = client_of(told.process.database, door, make_org(told.database, "another"), Role.OPERATOR)
    assert stranger.get("/v1/reminders").json == {"reminders": [], "next_cursor": None}
    answers = stranger.get(path), stranger.post(f"{path}/done"), stranger.delete(path)
    assert [one.status for one in answers] == [404, 404, 404]
    reader = client_of(told.process.database, door, told.org_id, Role.READER)
    assert reader.post(f"{path}/done").status == 403
    assert client.change(path, {"title": "Water them well"}).json["title"] == "Water them well"
    assert client.delete(path).status == 200
    assert client.get(path).status == 404


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"body": "x" * 3_001}, "body"),
        ({"body": "\x01"}, "body"),
        ({"at": "2036-10-26T01:30:00Z", "zone": "Europe/Berlin"}, "at"),
        ({"at": "2020-01-01T09:00"}, "at"),
        ({"at": "9999-12-31T23:59:59Z"}, "at"),
        ({"at": "soon"}, "at"),
        ({"zone": "Mars/Olympus"}, "zone"),
        ({"rule": "FREQ=DAILY;INTERVAL=0"}, "rule"),
        ({"rule": "FREQ=SECONDLY"}, "rule"),
        ({"rule": "FREQ=YEARLY;BYMONTH=11;BYMONTHDAY=31"}, "rule"),
        ({"rule": "FREQ=DAILY;COUNT=1000000000"}, "rule"),
        ({"rule": "FREQ=YEARLY;BYDAY=" + ",".join(["1MO"] * 65)}, "rule"),
        ({"rule": "FREQ=DAILY;UNTIL=20260101"}, "rule"),
        ({"repeat_every_s": 59, "repeat_at_most": 3}, "repeat_every_s"),
        ({"repeat_every_s": 60}, "repeat_at_most"),
        ({"repeat_every_s": 60, "repeat_at_most": 101}, "repeat_at_most"),
        ({"user_id": str(uuid4())}, "user_id"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(
    told: ToldPeople, client: Client, given: dict[str, Any], field: str
) -> None:
    refused = client.post("/v1/reminders", TITLE | {"user_id": str(told.user_id), "zone": "UTC"} | given)
    assert (refused.status, refused.json["field"]) == (422, field), refused.json
    assert client.get("/v1/reminders").json["reminders"] == []


def test_a_person_has_a_bounded_number_of_reminders(told: ToldPeople, client: Client) -> None:
    told.database.execute(
        "insert into reminders (org_id, user_id, title, starts_local, zone, due_at, created_by)"
        " select %s, %s, 'x', now(), 'UTC', now() + interval '1 day', 'x' from generate_series(1, %s)",
        (told.org_id, told.user_id, reminders.MOST_OPEN),
    )
    refused = client.post("/v1/reminders", TITLE | {"user_id": str(told.user_id), "zone": "UTC"})
    assert (refused.status, str(reminders.MOST_OPEN) in str(refused.json)) == (403, True)


def test_a_list_goes_on_after_its_page(told: ToldPeople, client: Client) -> None:
    made = [str(told.remind(timedelta(days=number))) for number in range(1, 4)]
    first = client.get("/v1/reminders?limit=2").json
    rest = client.get(f"/v1/reminders?limit=2&user_id={told.user_id}&cursor={first['next_cursor']}").json
    assert [one["reminder_id"] for one in (*first["reminders"], *rest["reminders"])] == made[::-1]

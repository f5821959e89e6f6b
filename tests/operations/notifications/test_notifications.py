"""Notifications, templates, preferences, contact points and the inbox, by command and by HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from string import ascii_letters
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from commands.operations import AREAS
from domain.jobs.failures import Invalid
from domain.notifications.channels import Channel
from domain.orgs.access.api_keys import Role
from tests.commands.calling import answer, refusal
from tests.doubles.factories import make_org
from tests.doubles.told_people import BOOKING, DATA, ToldPeople
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve

TEMPLATE = """
category: bookings
subject: "{{ what }} has changed"
text: "Hello {{ who }}, {{ what }} has changed."
html: "<p>Hello {{ who }}</p>"
sms: "{{ what }} has changed ☞ look"
push: {title: "{{ what }}", body: It has changed}
inbox: {title: "{{ what }}", body: It has changed}
sample: {what: Stage 2, who: Ada}
"""


@pytest.fixture
def door(told: ToldPeople) -> Iterator[str]:
    with serve(told.process.settings) as url:
        yield url


@pytest.fixture
def client(told: ToldPeople, door: str) -> Client:
    return client_of(told.process.database, door, told.org_id, Role.OPERATOR)


def events(told: ToldPeople, like: str) -> list[str]:
    rows = told.database.execute("select event from audit_entries where event like %s order by id", (like,)).fetchall()
    return [row[0] for row in rows]


def test_a_template_is_saved_in_versions_and_previewed_on_every_channel(told: ToldPeople, tmp_path: Path) -> None:
    file = tmp_path / "news.yaml"
    file.write_text(TEMPLATE)
    org = ("--org", told.org_id)
    saved = answer(AREAS.templates, "save", "news", file, *org, "--as", "ada")
    assert (saved["version"], saved["channels"]) == (1, ["email", "sms", "push", "inbox"])
    assert answer(AREAS.templates, "save", "news", file, *org)["version"] == 1, "the same texts are the same version"
    file.write_text(TEMPLATE.replace("☞ look", "- look"))
    assert answer(AREAS.templates, "save", "news", file, *org)["version"] == 2
    newest = answer(AREAS.templates, "preview", "news", *org)
    assert (newest["sms_encoding"], newest["sms_segments"]) == ("GSM-7", 1)
    oldest = answer(AREAS.templates, "preview", "news", *org, "--version", 1)
    assert oldest["sms_encoding"] == "UCS-2", "one letter that the GSM alphabet lacks"
    assert oldest["words"]["email"]["html"].startswith("<!doctype html>")
    assert [(one["name"], one["version"]) for one in answer(AREAS.templates, "list", *org)] == [
        ("booking", 1),
        ("news", 2),
    ]
    assert events(told, "template.%") == ["template.saved"] * 3


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"text": "{{ nobody }}"}, "text", "nobody is a value that the sample lacks"),
        ({"text": "{% if who %}x{% else %}{{ nobody.name }}{% endif %}"}, "text", "nobody is a value"),
        ({"text": "{{ who.__class__ }}"}, "text", "who.__class__"),
        ({"text": "{{ who | replace: 'A', 'AA' }}"}, "text", "the filter replace is not taken"),
        ({"text": "{% include 'x' %}"}, "text", "unexpected tag 'include'"),
        ({"text": "{% for i in (1..1000000) %}x{% endfor %}"}, "text", "has a range such as (1..3)"),
        ({"text": "{{ who"}, "text", "expected"),
        ({"subject": None}, "subject", "an e-mail has a subject and a text"),
        ({"text": None, "subject": None}, "html", "an e-mail in HTML has a text"),
        ({"sms": "x" * 460}, "sms", "has 4 segments"),
        ({"inbox": {"title": "a", "body": "b", "link": "javascript:alert(1)"}}, "inbox.link", "is no https address"),
        ({"category": "Big News"}, "category", "must be of a-z"),
        ({"more": 1}, "more", "Extra inputs"),
        ({"sample": []}, "sample", "dictionary"),
    ],
)
def test_a_fault_in_a_template_is_named_when_it_is_saved(
    client: Client, changes: dict[str, Any], field: str, words: str
) -> None:
    document = {name: value for name, value in (BOOKING | changes).items() if value is not None}
    refused = client.put("/v1/notification-templates/news", document)
    assert (refused.status, refused.json["field"]) == (422, field), refused.json
    assert words in refused.json["reason"], refused.json
    assert client.get("/v1/notification-templates/news").status == 404


def test_bad_yaml_names_its_line(told: ToldPeople, tmp_path: Path) -> None:
    file = tmp_path / "news.yaml"
    file.write_text("category: bookings\ntext: [\n")
    assert "news.yaml:3:1" in refusal(AREAS.templates, "save", "news", file, "--org", told.org_id)


def test_a_notification_is_sent_listed_and_explained(told: ToldPeople, client: Client) -> None:
    wish = {"recipient_id": str(told.user_id), "template": "booking", "data": DATA}
    sent, again = client.post("/v1/notifications", wish), client.post("/v1/notifications", wish)
    assert (sent.status, sent.json["is_new"], again.json["is_new"]) == (201, True, False)
    assert again.json["notification_id"] == sent.json["notification_id"]
    told.run_due()
    shown = client.get(f"/v1/notifications/{sent.json['notification_id']}").json
    assert {one["channel"]: (one["state"], one["reason"]) for one in shown["deliveries"]} == {
        "email": ("suppressed", "no_sender"),
        "sms": ("suppressed", "no_address"),
        "push": ("suppressed", "no_address"),
        "inbox": ("delivered", None),
    }
    listed = client.get(f"/v1/notifications?user_id={told.user_id}").json["notifications"]
    assert [one["notification_id"] for one in listed] == [sent.json["notification_id"]]
    assert "Stage 2" not in json.dumps(listed), "data may hold a code"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"recipient_id": "01a21a5c-0000-7000-8000-000000000000"}, "recipient_id"),
        ({"template": "nothing"}, "template"),
        ({"data": {"what": "Stage 2"}}, "data"),
        ({"data": DATA | {"more": "x" * 17_000}}, "data"),
        ({"channels": []}, "channels"),
        ({"channels": ["pigeon"]}, "channels.0"),
        ({"bucket": "x" * 201}, "bucket"),
    ],
)
def test_a_bad_request_is_refused_by_its_field(
    told: ToldPeople, client: Client, changes: dict[str, Any], field: str
) -> None:
    refused = client.post(
        "/v1/notifications", {"recipient_id": str(told.user_id), "template": "booking", "data": DATA} | changes
    )
    assert (refused.status, refused.json["field"]) == (422, field), refused.json
    assert told.database.execute("select count(*) from notifications").fetchone() == (0,)


def test_words_that_look_like_a_secret_reach_their_reader_and_no_job(told: ToldPeople, client: Client) -> None:
    secret = "password=Xk3-9vQ2-77aa"
    wish = {"recipient_id": str(told.user_id), "template": "booking", "data": DATA | {"what": secret}}
    assert client.post("/v1/notifications", wish).status == 201
    told.run_due()
    assert told.inbox() == [secret]
    assert told.database.execute("select count(*) from jobs where payload::text like '%%Xk3%%'").fetchone() == (0,)


def test_an_address_is_verified_by_the_code_that_it_gets(told: ToldPeople, client: Client) -> None:
    path = f"/v1/users/{told.user_id}/contact-points"
    added = client.post(path, {"channel": "sms", "address": "+49 30 123456"})
    assert (added.status, added.json["address"], added.json["verified_at"]) == (201, "+4930123456", None)
    told.run_due()
    (text,) = told.texts()
    code, here = text.split()[0], f"{path}/{added.json['contact_id']}"
    wrong = f"{(int(code) + 1) % 1_000_000:06}"
    assert client.post(f"{here}/verify", {"code": wrong}).json["field"] == "code"
    assert client.post(f"{here}/code").status == 409, "one a minute"
    assert client.post(f"{here}/verify", {"code": code}).json["verified_at"] is not None
    assert events(told, "contact_point.%") == [
        "contact_point.added", "contact_point.refused", "contact_point.verified"
    ]  # fmt: skip


def test_a_code_is_good_for_five_tries(told: ToldPeople, client: Client) -> None:
    path = f"/v1/users/{told.user_id}/contact-points"
    added = client.post(path, {"channel": "sms", "address": "+4930123456"}).json
    told.run_due()
    code, here = told.texts()[0].split()[0], f"{path}/{added['contact_id']}/verify"
    for number in range(1, 6):
        assert client.post(here, {"code": f"{(int(code) + number) % 1_000_000:06}"}).status == 422
    assert client.post(here, {"code": code}).status == 422, "nobody guesses on"


def test_an_address_that_is_added_again_gets_no_further_code_and_no_further_tries(
    told: ToldPeople, client: Client
) -> None:
    path, body = f"/v1/users/{told.user_id}/contact-points", {"channel": "sms", "address": "+4930987654"}
    added = client.post(path, body).json
    told.run_due()
    code = told.texts()[0].split()[0]
    wrong = {"code": f"{(int(code) + 1) % 1_000_000:06}"}
    for _ in range(5):
        assert client.post(f"{path}/{added['contact_id']}/verify", wrong).status == 422
        assert client.delete(f"{path}/{added['contact_id']}").status == 200
        added = client.post(path, body).json
    told.run_due()
    assert len(told.texts()) == 1, "one a minute"
    assert client.post(f"{path}/{added['contact_id']}/verify", {"code": code}).status == 422, "five tries"


def test_an_address_gets_ten_codes_a_day(told: ToldPeople, client: Client) -> None:
    path = f"/v1/users/{told.user_id}/contact-points"
    added = client.post(path, {"channel": "sms", "address": "+4930987654"}).json
    again = f"{path}/{added['contact_id']}/code"
    answers = []
    for _ in range(10):
        told.database.execute("update address_codes set expires_at = expires_at - interval '2 minutes'")
        answers.append(client.post(again).status)
    assert answers == [200] * 9 + [409]
    told.database.execute("update address_codes set counted_from = counted_from - interval '1 day'")
    assert client.post(again).status == 200


@pytest.mark.parametrize(
    ("channel", "address"),
    [
        ("sms", "030 123456"),
        ("sms", "+49"),
        ("sms", "+4930123456\n"),
        ("email", "ada"),
        ("email", "ada@example.org\nBcc: eve@example.net"),
        ("push", "no token"),
    ],
)
def test_an_address_that_is_none_is_refused(told: ToldPeople, client: Client, channel: str, address: str) -> None:
    refused = client.post(f"/v1/users/{told.user_id}/contact-points", {"channel": channel, "address": address})
    if (channel, address) == ("sms", "+4930123456\n"):
        assert refused.json["address"] == "+4930123456", "it is written as E.164"
    else:
        assert (refused.status, refused.json["field"]) == (422, "address"), refused.json


def test_a_device_is_its_last_users_and_its_token_is_not_shown(told: ToldPeople, client: Client) -> None:
    other = told.database.execute(
        "insert into users (org_id, email) values (%s, 'bob@example.org') returning id", (told.org_id,)
    ).fetchone()
    assert other is not None
    wish = {"channel": "push", "address": "a-token-of-a-device"}
    for user_id in (told.user_id, other[0]):
        added = client.post(f"/v1/users/{user_id}/contact-points", wish)
        assert (added.status, added.json["address"]) == (201, "…device")
    owners = told.database.execute("select user_id from contact_points where channel = 'push'").fetchall()
    assert owners == [other]


@pytest.mark.parametrize("name", ["deliver", "send_email", "send_sms", "send_push", "close_digest"])
def test_services_enqueue_no_job_of_notifications_by_themselves(told: ToldPeople, client: Client, name: str) -> None:
    """The row that such a job names has been decided on before: by HTTP and by SQL, services ask for a notification."""
    job_type, payload = f"notifications.{name}", {"delivery_id": str(told.user_id)}
    refused = client.post("/v1/jobs", {"job_type": job_type, "payload": payload})
    assert (refused.status, "/v1/notifications" in str(refused.json)) == (403, True)
    with pytest.raises(Invalid, match="job_type: notifications"), told.process.database.ledger() as tx:
        tx.raw(
            "select postroom.enqueue(%(type)s, %(org)s, %(payload)s)",
            {"type": job_type, "org": told.org_id, "payload": Jsonb(payload)},
        )
    assert told.database.execute("select count(*) from jobs").fetchone() == (0,)


def test_the_longest_token_of_a_device_fits(told: ToldPeople, client: Client) -> None:
    """Random letters, which no index makes smaller."""
    chance = Random(1)  # noqa: S311 - repeatable, no secret
    token = "".join(chance.choices(ascii_letters, k=4096))
    path = f"/v1/users/{told.user_id}/contact-points"
    for _ in range(2):
        assert client.post(path, {"channel": "push", "address": token}).status == 201
    refused = client.post(path, {"channel": "push", "address": token + "x"})
    assert (refused.status, refused.json["field"]) == (422, "address")
    assert told.database.execute("select count(*) from contact_points where channel = 'push'").fetchone() == (1,)


def test_quiet_hours_and_preferences_are_checked(told: ToldPeople, client: Client) -> None:
    here = f"/v1/users/{told.user_id}"
    assert client.put(f"{here}/quiet-hours", {"begin": "22:00", "end": "07:00"}).json["begin"] == "22:00"
    bad = [
        ({"begin": "22:00"}, "end"),
        ({"begin": "25:00", "end": "07:00"}, "begin"),
        ({"begin": "7:0", "end": "x"}, "begin"),
        ({"begin": "07:00", "end": "07:00"}, "end"),
    ]
    for wish, field in bad:
        assert client.put(f"{here}/quiet-hours", wish).json["field"] == field
    assert client.put(f"{here}/quiet-hours").json["begin"] is None
    assert client.put(f"{here}/preferences", {"category": "bookings", "channel": "sms", "choice": "off"}).status == 200
    muted = client.put(f"{here}/preferences", {"category": "security", "channel": "sms", "choice": "off"})
    assert (muted.status, muted.json["field"]) == (422, "category")
    digest = client.put(f"{here}/preferences", {"category": "bookings", "channel": "inbox", "choice": "digest"})
    assert digest.json["field"] == "choice"
    listed = client.get(f"{here}/preferences").json["preferences"]
    assert [(one["category"], one["channel"], one["choice"]) for one in listed] == [("bookings", "sms", "off")]


def test_the_inbox_is_read_item_by_item_and_as_a_whole(told: ToldPeople, client: Client) -> None:
    for number in range(3):
        told.notify(bucket=str(number), channels=(Channel.INBOX,))
    told.run_due()
    here = f"/v1/users/{told.user_id}/inbox"
    assert [one["seq"] for one in client.get(f"{here}?limit=2").json["items"]] == [3, 2]
    assert client.post(f"{here}/2/read").json["read_at"] is not None
    assert client.get(f"{here}/unread").json["unread"] == 2
    assert client.post(f"{here}/2/unread").json["read_at"] is None
    assert [one["seq"] for one in client.get(f"{here}?unread=true").json["items"]] == [3, 2, 1]
    assert client.post(f"{here}/read").json["unread"] == 0
    assert client.post(f"{here}/9/read").status == 404


def test_another_org_sees_nothing(told: ToldPeople, client: Client, door: str) -> None:
    told.tell()
    stranger = client_of(told.process.database, door, make_org(told.database, "another"), Role.OPERATOR)
    asked = told.database.execute("select id from notifications").fetchone()
    assert asked is not None
    assert stranger.get("/v1/notifications").json["notifications"] == []
    for path in (f"/v1/notifications/{asked[0]}", f"/v1/users/{told.user_id}/inbox"):
        assert (client.get(path).status, stranger.get(path).status) == (200, 404)
    assert stranger.post(f"/v1/users/{told.user_id}/inbox/1/read").status == 404
    wish = {"recipient_id": str(told.user_id), "template": "postroom.reminder", "data": {"title": "a", "body": "b"}}
    assert stranger.post("/v1/notifications", wish).json["field"] == "recipient_id"


def test_channels_are_set_with_a_secret_that_is_there(told: ToldPeople, client: Client) -> None:
    listed = client.get("/v1/notification-channels").json["channels"]
    assert [(one["channel"], one["provider"]) for one in listed] == [("push", "fcm"), ("sms", "twilio")]
    wish = {"from_name": "+15005550007", "secret_name": "nothing"}
    assert client.put("/v1/notification-channels/sms", wish).json["field"] == "secret_name"
    assert client.put("/v1/notification-channels/email", wish | {"secret_name": "twilio"}).json["field"] == "channel"
    assert (
        client.put("/v1/notification-channels/sms", wish | {"secret_name": "twilio"}).json["from_name"]
        == "+15005550007"
    )
    assert client.delete("/v1/notification-channels/sms").status == 200
    assert {one.reason for one in told.tell(channels=(Channel.SMS,))} == {"no_sender"}
    assert events(told, "channel.%") == ["channel.set", "channel.removed"]

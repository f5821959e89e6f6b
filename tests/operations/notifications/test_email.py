"""Mail and senders, by command and by HTTP."""

import re
from uuid import UUID

import pytest
from psycopg import Connection

from commands.operations import AREAS
from commands.secrets import secrets
from domain.orgs.access.api_keys import Role
from storage.postgres.database import Database
from tests.commands.calling import answer, refusal
from tests.gateway.api.conftest import Client, client_of

MAIL = {"to": "Ada <ada@example.com>", "subject": "Lunch", "text": "the password=hunter2hunter2", "reference": "r-7"}


def audited(database: Connection, events: str) -> list[tuple[str, str]]:
    return database.execute(
        "select event, actor_id from audit_entries where event like %s order by id", (events,)
    ).fetchall()


@pytest.mark.usefixtures("process")
def test_mail_is_ordered_and_shown_by_command(org: UUID, database: Connection) -> None:
    told = ["--to", "ada@example.com", "--to", "bob@example.com", "--subject", "Lunch", "--text", "At noon?"]
    made = answer(AREAS.email, "send", "--org", org, *told, "--max-retries", 0, "--as", "ada")
    assert (made["state"], made["recipients"], made["provider"]) == ("queued", 2, None)
    assert answer(AREAS.email, "list", "--org", org) == [made]
    assert answer(AREAS.email, "show", made["order_id"]) == made
    assert audited(database, "email.%") == [("email.ordered", "operator:ada")]
    jobs = database.execute("select job_type, payload, max_attempts from jobs").fetchall()
    assert jobs == [("email.send", {"order_id": made["order_id"]}, 1)]


def test_mail_is_ordered_once_per_key_by_http(client: Client, stranger: Client, database: Connection) -> None:
    key = {"Idempotency-Key": "a key"}
    made, again = (client.post("/v1/email", MAIL, key) for _ in range(2))
    assert (made.status, again.json) == (202, made.json)
    assert client.get("/v1/email").json == {"emails": [made.json], "next_cursor": None}
    order_id = made.json["order_id"]
    assert client.get(f"/v1/email/{order_id}").json == made.json
    assert not {"Ada", "ada@example.com"} & set(re.findall(r"[\w.@]+", str(made.json))), "a list of mail names nobody"
    assert stranger.get("/v1/email").json["emails"] == []
    assert stranger.get(f"/v1/email/{order_id}").status == 404
    assert audited(database, "email.%") == [("email.ordered", str(client.key_id))]
    other = client.post("/v1/email", MAIL | {"text": "other words"}, key)
    assert (other.status, other.json["field"]) == (422, "idempotency_key")
    assert database.execute("select count(*) from email_orders").fetchone() == (1,)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"to": "ada@example.com\nBcc: eve@example.com"}, "to.0"),
        ({"to": []}, "to"),
        ({"to": [f"p{number}@example.com" for number in range(51)]}, "to"),
        ({"to": [f"p{number}@example.com" for number in range(1_000)]}, "to"),
        ({"text": None}, "text"),
        ({"attachments": ["a"]}, "attachments.0"),
        ({"attachments": [str(UUID(int=1))]}, "attachments.0.artifact_id"),
        ({"headers": {"From": "eve@example.com"}}, "headers"),
        ({"max_retries": 100}, "max_retries"),
        ({"run_at": "tomorrow"}, "run_at"),
    ],
)
def test_bad_mail_is_refused_by_field(
    changed: dict[str, object], field: str, client: Client, database: Connection
) -> None:
    refused = client.post("/v1/email", MAIL | changed)
    assert (refused.status, refused.json["field"]) == (422, field)
    assert database.execute("select (select count(*) from jobs), (select count(*) from email_orders)").fetchone() == (
        0,
        0,
    )


def test_a_reader_orders_no_mail(store: Database, door: str, org: UUID, database: Connection) -> None:
    reader = client_of(store, door, org, Role.READER)
    assert reader.post("/v1/email", MAIL).status == 403
    assert reader.put("/v1/senders", {}).status in {403, 422}
    assert database.execute("select count(*) from email_orders").fetchone() == (0,)


@pytest.mark.usefixtures("process")
def test_a_sender_is_set_shown_and_checked_by_command(org: UUID, database: Connection) -> None:
    senders = AREAS.senders
    assert "has no sender" in refusal(senders, "show", "--org", org)
    told = [
        "--org",
        org,
        "--provider",
        "resend",
        "--from-address",
        "Desk <desk@example.com>",
        "--secret-name",
        "resend",
    ]
    assert "secret_name" in refusal(senders, "set", *told)
    assert answer(senders, "check", "--org", org)["problem"] == "the org has no sender: set one"
    answer(secrets, "set", "resend", "--org", org, typed="re_Abcdefgh_of_an_org")
    made = answer(senders, "set", *told, "--as", "ada")
    assert (made["provider"], made["from_address"], made["secret_name"]) == (
        "resend", "Desk <desk@example.com>", "resend",
    )  # fmt: skip
    assert answer(senders, "show", "--org", org) == made
    assert answer(senders, "check", "--org", org)["problem"] is None
    ((data,),) = database.execute("select data from audit_entries where event = 'sender.set'").fetchall()
    assert data == {"provider": "resend", "domain": "example.com", "secret_name": "resend"}
    answer(secrets, "remove", "resend", "--org", org)
    assert "was removed" in answer(senders, "check", "--org", org)["problem"]


def test_a_sender_is_set_by_http_for_the_key_s_org(client: Client, stranger: Client, database: Connection) -> None:
    database.execute(
        "insert into org_secrets (org_id, name, sealed, key_id) values (%s, 'graph', 'x', '12345678')", (client.org_id,)
    )
    wanted = {
        "provider": "graph", "from_address": "desk@example.com", "mailbox": "desk@example.com", "secret_name": "graph",
    }  # fmt: skip
    made = client.put("/v1/senders", wanted)
    assert (made.status, made.json["mailbox"]) == (200, "desk@example.com")
    assert client.get("/v1/senders").json == made.json
    assert stranger.get("/v1/senders").status == 404
    assert stranger.put("/v1/senders", wanted).json["field"] == "secret_name"
    for field, value in {"mailbox": None, "from_address": "a\nb@example.com", "provider": "smtp"}.items():
        refused = client.put("/v1/senders", wanted | {field: value})
        assert (refused.status, refused.json["field"]) == (422, field)
    assert client.get("/v1/senders/check").json["problem"] is None
    assert audited(database, "sender.%") == [("sender.set", str(client.key_id))]

"""Approvals over HTTP: an operator's key decides, once; a writer cannot approve what it asked for."""

from typing import Any
from uuid import uuid4

import pytest
from psycopg import Connection

from domain.access.api_keys import Role
from domain.approvals.decision import Refusal
from domain.approvals.outcome import WORDS
from engine.runtime import Runtime
from storage.accounts.accounts import Account
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account, store_message
from tests.gateway.api.conftest import Client, client_of


@pytest.fixture
def account(store: Database, process: Runtime) -> Account:
    """A mailbox with one stored message, m1."""
    assert process.database is not None
    account = make_account(store)
    store_message(store, account)
    return account


@pytest.fixture
def operator(store: Database, door: str, account: Account) -> Client:
    return client_of(store, door, account.org_id, Role.OPERATOR)


def waiting(operator: Client, account: Account) -> dict[str, Any]:
    document = {"account_id": str(account.account_id), "message_id": "m1", "action": {"kind": "delete"}}
    answer = operator.post("/v1/actions", document)
    assert answer.status == 201, answer.json
    made: dict[str, Any] = answer.json
    return made


def test_what_waits_is_listed_with_its_end_and_asked_about(
    operator: Client, account: Account, database: Connection
) -> None:
    made = waiting(operator, account)
    assert made["approval_expires_at"] is not None
    listed = operator.get("/v1/approvals").json
    assert [one["action_id"] for one in listed["actions"]] == [made["action_id"]]
    assert operator.get(f"/v1/approvals?account_id={uuid4()}").json["actions"] == []
    rows = database.execute("select job_type from jobs").fetchall()
    assert rows == [("approvals.notify",)]


def test_parts_of_the_list_follow_each_other(operator: Client, account: Account) -> None:
    ids = [waiting(operator, account)["action_id"] for _ in range(3)]
    first = operator.get("/v1/approvals?limit=2").json
    rest = operator.get(f"/v1/approvals?limit=2&cursor={first['next_cursor']}").json
    assert [one["action_id"] for one in (*first["actions"], *rest["actions"])] == ids[::-1]
    assert rest["next_cursor"] is None


def test_an_approval_releases_the_action(operator: Client, account: Account) -> None:
    made = waiting(operator, account)
    answer = operator.post(f"/v1/approvals/{made['action_id']}/approve", {"reason": "it is spam"})
    assert (answer.status, answer.json["state"], answer.json["approval_reason"]) == (200, "approved", "it is spam")
    assert answer.json["approver"] == f"api_key:{operator.key_id}"
    assert answer.json["job_id"] is not None
    again = operator.post(f"/v1/approvals/{made['action_id']}/deny")
    assert (again.status, again.json["code"]) == (409, "approval.closed")


def test_a_denial_is_final(operator: Client, account: Account) -> None:
    made = waiting(operator, account)
    denied = operator.post(f"/v1/approvals/{made['action_id']}/deny").json
    assert denied["state"] == "denied"
    decider = denied["approver"]
    again = operator.post(f"/v1/approvals/{made['action_id']}/approve")
    assert (again.status, again.json["detail"].endswith(f"Denied by {decider}")) == (409, True)


def test_what_is_older_than_the_connection_of_its_mailbox_is_refused_in_the_words_of_the_button(
    operator: Client, account: Account, database: Connection
) -> None:
    made = waiting(operator, account)
    database.execute("update actions set created_at = created_at - interval '1 second'")
    database.execute("update accounts set connected_at = now()")
    answer = operator.post(f"/v1/approvals/{made['action_id']}/approve")
    said = (409, "approval.closed", f"action_id: {WORDS[Refusal.CONNECTED_ANEW]}")
    assert (answer.status, answer.json["code"], answer.json["detail"]) == said
    assert operator.post(f"/v1/approvals/{made['action_id']}/deny").json["state"] == "denied"


def test_a_writer_cannot_approve_and_a_reader_can_look(
    operator: Client, account: Account, store: Database, door: str
) -> None:
    made = waiting(operator, account)
    for role in (Role.WRITER, Role.READER):
        client = client_of(store, door, account.org_id, role)
        assert client.post(f"/v1/approvals/{made['action_id']}/approve").status == 403
        assert client.get("/v1/approvals").status == 200


def test_another_orgs_action_looks_like_none(operator: Client, account: Account, stranger: Client) -> None:
    made = waiting(operator, account)
    for word in ("approve", "deny"):
        foreign = stranger.post(f"/v1/approvals/{made['action_id']}/{word}")
        unknown = stranger.post(f"/v1/approvals/{uuid4()}/{word}")
        assert foreign.status == unknown.status == 404
    assert stranger.get("/v1/approvals").json["actions"] == []
    assert operator.get("/v1/approvals").json["actions"][0]["state"] == "approved_pending"


@pytest.mark.parametrize(
    ("document", "field"), [({"reason": ""}, "reason"), ({"reason": "x" * 1001}, "reason"), ({"who": "me"}, "who")]
)
def test_what_is_refused_names_its_field(
    operator: Client, account: Account, document: dict[str, object], field: str
) -> None:
    made = waiting(operator, account)
    answer = operator.post(f"/v1/approvals/{made['action_id']}/approve", document)
    assert (answer.status, answer.json["field"]) == (422, field)

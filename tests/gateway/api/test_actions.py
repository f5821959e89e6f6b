"""Actions over HTTP: asked for through the safety policy, listed, undone, and another org's are found by nobody."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.undo_hint import hint_for, irreversible
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.postgres.database import Database
from tests.domain.mail.messages import make_message
from tests.doubles.mail_factories import make_account, store_message
from tests.doubles.mail_factories import make_message as stored_message
from tests.gateway.api.conftest import Client, client_of

ARCHIVE = {"kind": "archive"}


@pytest.fixture
def account(store: Database, process: Runtime) -> Account:
    """A mailbox with one stored message, m1."""
    assert process.database is not None
    account = make_account(store)
    store_message(store, account)
    return account


@pytest.fixture
def owner(store: Database, door: str, account: Account) -> Client:
    """A key of the mailbox's org that may enqueue."""
    return client_of(store, door, account.org_id, Role.WRITER)


def body(account: Account, action: object, **more: object) -> dict[str, object]:
    return {"account_id": str(account.account_id), "message_id": "m1", "action": action} | more


def asked(owner: Client, account: Account, action: Mapping[str, object]) -> dict[str, Any]:
    answer = owner.post("/v1/actions", body(account, action))
    assert answer.status == 201, answer.json
    assert answer.headers["location"] == f"/v1/actions/{answer.json['action_id']}"
    made: dict[str, Any] = answer.json
    return made


def finish(store: Database, account: Account, action_id: str, kind: str = "archive") -> None:
    """As the action's job does."""
    hint = hint_for(Archive(), {"INBOX"}, set()) if kind == "archive" else irreversible(Delete().kind)
    job_id = uuid4()
    with store.tenant(account.org_id) as tx:
        assert actions.begin(tx, UUID(action_id), job_id)
        actions.finish(tx, UUID(action_id), job_id, hint)


def test_a_safe_action_goes_ahead_with_its_job(owner: Client, account: Account, database: Connection) -> None:
    made = asked(owner, account, ARCHIVE)
    assert (made["state"], made["danger"], made["inverse"], made["reasons"]) == (
        "queued",
        "reversible",
        "apply_label",
        [],
    )
    assert made["requested_by"] == f"api_key:{owner.key_id}"
    row = database.execute("select job_type, payload, actor_type, actor_id from jobs where id = %s", (made["job_id"],))
    job_type, payload, actor_type, actor_id = row.fetchone() or ()
    assert (job_type, payload["action_id"]) == ("actions.execute", made["action_id"])
    assert (actor_type, actor_id) == ("api_key", str(owner.key_id))


def test_a_dangerous_action_waits_for_a_person(owner: Client, account: Account, database: Connection) -> None:
    for action in ({"kind": "delete"}, {"kind": "forward", "to": ["a@example.org"]}):
        made = asked(owner, account, action)
        assert (made["state"], made["job_id"], made["inverse"]) == ("approved_pending", None, "none")
        assert made["reasons"][0] == f"{action['kind']} is dangerous"
    row = database.execute("select count(*) from jobs where job_type = 'actions.execute'").fetchone()
    assert row == (0,)


REFUSED: list[tuple[object, str]] = [
    ({"kind": "explode"}, "action.kind"),
    ({"kind": "undo", "original_action_id": str(uuid4())}, "action.kind"),
    ({}, "action.kind"),
    ("archive", "action"),
    ({"kind": "archive", "label_id": "x"}, "action.label_id"),
    ({"kind": "apply_label", "label_id": ""}, "action.label_id"),
    ({"kind": "apply_label", "label_id": "TRASH"}, "action.label_id"),
    ({"kind": "snooze", "until": "2020-01-01T00:00:00Z"}, "action.until"),
    ({"kind": "snooze", "until": "2090-01-01T00:00:00Z"}, "action.until"),
    ({"kind": "snooze", "amount": 1, "units": "fortnights"}, "action.units"),
    ({"kind": "snooze", "amount": 500, "units": "days"}, "action"),
    ({"kind": "forward", "to": ["a@example.org\r\nBcc: b@example.org"]}, "action.to.0"),
    ({"kind": "forward", "to": ["a@example.org", "a\x00b@example.org"]}, "action.to.1"),
    ({"kind": "forward", "to": ["jörg@example.org"]}, "action.to.0"),
    ({"kind": "forward", "to": ["a@example.org"], "cc": ["a@b..example"]}, "action.cc.0"),
]


@pytest.mark.parametrize(("action", "field"), REFUSED)
def test_what_is_refused_names_its_field(owner: Client, account: Account, action: object, field: str) -> None:
    answer = owner.post("/v1/actions", body(account, action))
    assert (answer.status, answer.json["field"]) == (422, field), answer.json
    assert answer.json["reason"]
    assert "Value error" not in answer.json["reason"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"message_id": "a b"}, "message_id"), ({"more": 1}, "more"), ({"account_id": "x"}, "account_id")],
)
def test_the_request_itself_is_checked(owner: Client, account: Account, changes: dict[str, object], field: str) -> None:
    answer = owner.post("/v1/actions", body(account, ARCHIVE, **changes))
    assert (answer.status, answer.json["field"]) == (422, field)


def test_an_unknown_message_or_account_is_not_found(owner: Client, account: Account) -> None:
    for changes in ({"message_id": "m2"}, {"account_id": str(uuid4())}):
        answer = owner.post("/v1/actions", body(account, ARCHIVE, **changes))
        assert answer.status == 404, answer.json


def test_nothing_is_asked_of_a_mailbox_that_is_disconnected(
    owner: Client, account: Account, store: Database, database: Connection
) -> None:
    with store.ledger() as tx:
        assert accounts.disconnect(tx, account.account_id, "its owner left")
    answer = owner.post("/v1/actions", body(account, {"kind": "delete"}))
    assert (answer.status, "disconnected" in answer.json["detail"]) == (409, True), answer.json
    assert database.execute("select count(*) from actions").fetchone() == (0,)


def test_the_same_request_under_a_key_is_one_action(owner: Client, account: Account, database: Connection) -> None:
    key = {"Idempotency-Key": "order 7"}
    first, again = (owner.post("/v1/actions", body(account, ARCHIVE), key) for _ in range(2))
    assert (first.status, again.status) == (201, 200)
    assert again.json["action_id"] == first.json["action_id"]
    assert database.execute("select count(*) from actions").fetchone() == (1,)
    assert database.execute("select count(*) from jobs where job_type = 'actions.execute'").fetchone() == (1,)
    other = owner.post("/v1/actions", body(account, {"kind": "star"}), key)
    assert (other.status, other.json["field"]) == (422, "idempotency_key")


def test_a_key_of_one_org_is_another_orgs_too(store: Database, door: str, owner: Client, account: Account) -> None:
    stranger = make_account(store, org="another org")
    store_message(store, stranger)
    key = {"Idempotency-Key": "order 7"}
    mine = owner.post("/v1/actions", body(account, ARCHIVE), key)
    theirs = client_of(store, door, stranger.org_id, Role.WRITER).post("/v1/actions", body(stranger, ARCHIVE), key)
    assert (mine.status, theirs.status) == (201, 201)
    assert mine.json["action_id"] != theirs.json["action_id"]


def test_actions_are_listed_and_looked_at(owner: Client, account: Account, store: Database) -> None:
    made = [asked(owner, account, ARCHIVE)["action_id"] for _ in range(3)]
    finish(store, account, made[0])
    first = owner.get("/v1/actions?limit=2").json
    rest = owner.get(f"/v1/actions?limit=2&cursor={first['next_cursor']}").json
    assert [one["action_id"] for one in first["actions"] + rest["actions"]] == made[::-1]
    assert rest["next_cursor"] is None
    done = owner.get(f"/v1/actions?state=done&kind=archive&message_id=m1&account_id={account.account_id}").json
    assert [one["action_id"] for one in done["actions"]] == [made[0]]
    shown = owner.get(f"/v1/actions/{made[0]}").json
    assert shown["undo_hint"]["inverse_parameters"]["add_labels"] == ["INBOX"]
    assert owner.get(f"/v1/actions/{uuid4()}").status == 404


def test_an_undo_is_a_job_and_what_cannot_be_undone_is_refused(
    owner: Client, account: Account, store: Database, database: Connection
) -> None:
    made = asked(owner, account, ARCHIVE)["action_id"]
    early = owner.post(f"/v1/actions/{made}/undo")
    assert (early.status, early.json["code"]) == (409, "action.not_undoable")
    finish(store, account, made)
    answers = [owner.post(f"/v1/actions/{made}/undo") for _ in range(2)]
    assert [one.status for one in answers] == [202, 202]
    assert [one.json["created"] for one in answers] == [True, False]
    assert answers[0].json["job_id"] == answers[1].json["job_id"]
    row = database.execute("select job_type, payload from jobs where id = %s", (answers[0].json["job_id"],)).fetchone()
    assert row is not None
    assert (row[0], row[1]["original_action_id"]) == ("actions.undo", made)
    gone = asked(owner, account, {"kind": "delete"})["action_id"]
    with store.ledger() as tx:
        tx.raw("update actions set state = 'approved', approver = 'ada', decided_at = now() where danger = 'dangerous'")
    finish(store, account, gone, "delete")
    refused = owner.post(f"/v1/actions/{gone}/undo")
    assert (refused.status, refused.json["detail"]) == (409, "delete cannot be undone")


def test_nothing_of_another_org_is_found(
    owner: Client, stranger: Client, account: Account, store: Database, database: Connection
) -> None:
    made = asked(owner, account, ARCHIVE)["action_id"]
    finish(store, account, made)
    assert stranger.get("/v1/actions").json["actions"] == []
    assert stranger.get(f"/v1/actions?account_id={account.account_id}").json["actions"] == []
    assert stranger.get(f"/v1/actions/{made}").status == 404
    assert stranger.post(f"/v1/actions/{made}/undo").status == 404
    assert stranger.post("/v1/actions", body(account, ARCHIVE)).status == 404
    assert database.execute("select count(*) from jobs where job_type = 'actions.undo'").fetchone() == (0,)


def test_a_reader_may_only_look(door: str, store: Database, owner: Client, account: Account) -> None:
    made = asked(owner, account, ARCHIVE)["action_id"]
    reader = client_of(store, door, account.org_id, Role.READER)
    assert reader.get(f"/v1/actions/{made}").status == 200
    assert reader.post("/v1/actions", body(account, ARCHIVE)).status == 403
    assert reader.post(f"/v1/actions/{made}/undo").status == 403


FILE = {"filename": "offer.pdf", "content_type": "application/pdf", "data": "JVBERg=="}


def test_an_answer_takes_files_whose_names_are_shown_and_whose_content_is_not(
    owner: Client, account: Account, store: Database
) -> None:
    answer = {"kind": "auto_reply", "text": "Here it is.", "attachments": [FILE]}
    made = asked(owner, account, answer)
    (shown,) = made["parameters"]["attachments"]
    assert (shown["filename"], shown["size"], len(shown["sha256"])) == ("offer.pdf", 4, 64)
    assert "data" not in shown
    with store.tenant(account.org_id) as tx:
        (kept,) = actions.files(tx, account.account_id, UUID(made["action_id"]))
    assert kept.model_dump() == FILE


@pytest.mark.parametrize(
    ("action", "field"),
    [
        ({"kind": "archive", "attachments": [FILE]}, "action.attachments"),
        ({"kind": "auto_reply", "text": "x", "attachments": [FILE | {"data": "%"}]}, "action.attachments.0.data"),
    ],
)
def test_files_that_cannot_go_are_refused_by_their_field(
    owner: Client, account: Account, action: dict[str, object], field: str
) -> None:
    answer = owner.post("/v1/actions", body(account, action))
    assert (answer.status, answer.json["field"]) == (422, field)


def test_an_answer_that_could_go_to_nobody_is_refused_before_anybody_is_asked(
    owner: Client, account: Account, store: Database
) -> None:
    unwritable = make_message(**{"from": "Jörg <jörg@example.org>"})
    store_message(store, account, replace(stored_message("m2"), parsed=unwritable))
    answer = owner.post("/v1/actions", body(account, {"kind": "auto_reply", "text": "Thanks."}, message_id="m2"))
    assert (answer.status, answer.json["field"]) == (422, "message_id"), answer.json
    assert asked(owner, account, {"kind": "auto_reply", "text": "Thanks."})["state"] == "approved_pending"

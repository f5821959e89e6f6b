"""Labels, settings, safety policy, corrections and disconnection over HTTP."""

import pytest
from psycopg import Connection

from domain.mail.mailbox import MailboxLabel
from domain.orgs.access.api_keys import Role
from storage.mail.accounts import labels
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account
from tests.gateway.api.conftest import Client, client_of


@pytest.fixture
def account(store: Database) -> Account:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [MailboxLabel("Label_1", "Receipts", "user")])
    return account


@pytest.fixture
def client(store: Database, door: str, account: Account) -> Client:
    """An operator's key of the mailbox's org."""
    return client_of(store, door, account.org_id, Role.OPERATOR)


def path(account: Account, rest: str) -> str:
    return f"/v1/accounts/{account.account_id}/{rest}"


def test_an_address_names_the_open_account(client: Client, stranger: Client, account: Account, store: Database) -> None:
    (found,) = client.get("/v1/accounts?email=Me@example.com").json["accounts"]
    assert (found["account_id"], found["status"]) == (str(account.account_id), "active")
    assert client.post(path(account, "disconnect")).status == 200
    assert client.get("/v1/accounts?email=me@example.com").json["accounts"] == []
    again = make_account(store)
    (found,) = client.get("/v1/accounts?email=me@example.com").json["accounts"]
    assert found["account_id"] == str(again.account_id)
    assert stranger.get("/v1/accounts?email=me@example.com").json == {"accounts": [], "next_cursor": None}


def test_accounts_are_listed_page_by_page_and_shown(
    client: Client, stranger: Client, account: Account, store: Database
) -> None:
    others = [make_account(store, email=f"{name}@example.com") for name in ("anna", "zoe")]
    seen, cursor = [], ""
    while True:
        page = client.get(f"/v1/accounts?limit=1{cursor}").json
        seen += [one["account_id"] for one in page["accounts"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == [str(one.account_id) for one in (others[0], account, others[1])]
    assert client.get(f"/v1/accounts/{account.account_id}").json["email"] == account.email
    assert stranger.get(f"/v1/accounts/{account.account_id}").status == 404
    assert stranger.get("/v1/accounts").json["accounts"] == []


def test_labels_are_listed_and_described(client: Client, account: Account) -> None:
    changed = client.change(path(account, "labels/Label_1"), {"description": "What I paid", "for_classifier": True})
    assert (changed.status, changed.json["for_classifier"]) == (200, True)
    (found,) = client.get(path(account, "labels")).json["labels"]
    assert (found["name"], found["description"]) == ("Receipts", "What I paid")
    assert client.change(path(account, "labels/Label_2"), {"for_classifier": True}).status == 404
    for field, document in (
        ("description", {}),
        ("description", {"description": "x" * 201}),
        ("description", {"description": "a\x00b"}),
        ("for_classifier", {"for_classifier": "true"}),
        ("role", {"role": "done"}),
        ("document", []),
    ):
        refused = client.change(path(account, "labels/Label_1"), document)
        assert (refused.status, refused.json["field"]) == (422, field)


def test_settings_are_read_and_changed(client: Client, account: Account) -> None:
    assert client.get(path(account, "settings")).json["send_allowed"] is False
    changed = client.change(path(account, "settings"), {"send_allowed": True, "model_actions": ["trash"]})
    assert (changed.json["send_allowed"], changed.json["model_actions"]) == (True, ["trash"])
    for field, document in (("send_allowed", {"send_allowed": "true"}), ("settings", {}), ("role", {"role": "x"})):
        assert client.change(path(account, "settings"), document).json["field"] == field
    assert client.change(path(account, "settings"), {"model_actions": []}).json["model_actions"] == []
    refused = client.change(path(account, "settings"), {"model_actions": ["forward"]})
    assert (refused.status, refused.json["field"]) == (422, "model_actions")
    assert "sends mail" in refused.json["reason"]


def test_the_safety_policy_of_a_mailbox_and_of_the_org(client: Client, account: Account) -> None:
    assert client.get("/v1/safety").json["confidence_floor"] == 0.7
    assert client.change("/v1/safety", {"confidence_floor": 0.9}).json["approve_from"] == "dangerous"
    of_mailbox = f"/v1/safety?account_id={account.account_id}"
    assert client.change(of_mailbox, {"approve_from": "safe", "confidence_floor": 0.1}).status == 200
    assert client.get(of_mailbox).json["confidence_floor"] == 0.1
    holds = client.get(path(account, "settings")).json["safety"]
    assert holds == {"confidence_floor": 0.9, "always_approve": [], "approve_from": "safe"}
    assert client.change("/v1/safety", {"approve_from": "never"}).json["field"] == "approve_from"
    assert client.change("/v1/safety", {}).status == 422
    assert client.delete(of_mailbox).json == {"account_id": str(account.account_id), "removed": True}
    assert client.delete(of_mailbox).status == 404
    assert client.get(of_mailbox).json["saved"] is False
    assert client.delete("/v1/safety").json["removed"] is True


def test_a_mailbox_is_disconnected_once(client: Client, account: Account, database: Connection) -> None:
    assert client.post(path(account, "disconnect"), {"reason": "leaves us"}).json["status"] == "disconnected"
    assert client.post(path(account, "disconnect")).status == 409
    assert database.execute("select status, status_reason from accounts").fetchone() == ("disconnected", "leaves us")
    assert client.get(path(account, "corrections")).json == {"corrections": []}


def test_another_orgs_key_finds_nothing(client: Client, stranger: Client, account: Account) -> None:
    answers = [
        stranger.get(path(account, "labels")),
        stranger.change(path(account, "labels/Label_1"), {"for_classifier": True}),
        stranger.get(path(account, "settings")),
        stranger.change(path(account, "settings"), {"send_allowed": True}),
        stranger.get(f"/v1/safety?account_id={account.account_id}"),
        stranger.change(f"/v1/safety?account_id={account.account_id}", {"confidence_floor": 0.0}),
        stranger.delete(f"/v1/safety?account_id={account.account_id}"),
        stranger.get(path(account, "corrections")),
        stranger.post(path(account, "disconnect")),
    ]
    assert [one.status for one in answers] == [404] * len(answers)
    assert client.get(path(account, "settings")).json["send_allowed"] is False


def test_only_an_operator_changes_what_is_allowed(store: Database, door: str, account: Account) -> None:
    writer = client_of(store, door, account.org_id, Role.WRITER)
    answers = [
        writer.change(path(account, "settings"), {"send_allowed": True}),
        writer.change("/v1/safety", {"confidence_floor": 0.0}),
        writer.delete("/v1/safety"),
        writer.post(path(account, "disconnect")),
    ]
    assert [one.status for one in answers] == [403] * len(answers)
    reader = client_of(store, door, account.org_id, Role.READER)
    assert reader.change(path(account, "labels/Label_1"), {"for_classifier": True}).status == 403
    assert reader.get(path(account, "settings")).status == 200


def test_a_mailbox_says_how_it_is(client: Client, stranger: Client, account: Account, database: Connection) -> None:
    found = client.get(path(account, "standing")).json
    facts = ("status", "sent_today", "actions_waiting", "backfills", "newest_mail_at", "sending_paused_until")
    assert [found[name] for name in facts] == ["active", 0, 0, [], None, None]
    database.execute("update accounts set sending_paused_until = now() + interval '1 hour'")
    assert client.get(path(account, "standing")).json["sending_paused_until"] is not None
    assert stranger.get(path(account, "standing")).status == 404


def test_a_watch_is_renewed_by_a_job(client: Client, stranger: Client, account: Account) -> None:
    made = client.post(path(account, "renew-watch"))
    assert (made.status, made.json["created"]) == (202, True)
    again = client.post(path(account, "renew-watch"))
    assert (again.json["job_id"], again.json["created"]) == (made.json["job_id"], False)
    assert stranger.post(path(account, "renew-watch")).status == 404

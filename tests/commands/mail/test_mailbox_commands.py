"""Directions, labels, settings, safety and disconnection from the command line."""

import pytest
from psycopg import Connection

from commands.accounts import accounts
from commands.operations import AREAS
from domain.mail.mailbox import MailboxLabel
from storage.mail.accounts import labels as stored
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Database
from tests.commands.calling import answer, call, refusal
from tests.doubles.mail_factories import make_account

pytestmark = pytest.mark.usefixtures("process")


@pytest.fixture
def account(store: Database) -> Account:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        stored.sync(tx, account.account_id, [MailboxLabel("Label_1", "Receipts", "user")])
    return account


def test_directions_are_added_in_each_scope_listed_and_removed(account: Account) -> None:
    here = ("--account", account.email)
    answer(AREAS.directions, "add", "Be kind.", *here)
    answer(AREAS.directions, "add", "Mind the boiler.", *here, "--domain", "Heating.example")
    answer(AREAS.directions, "add", "She is the boss.", *here, "--sender", "Boss@example.com")
    made = answer(AREAS.directions, "add", "Be brief.", "--org", "an org")
    listed = answer(AREAS.directions, "list", *here)
    assert [(one["scope"], one["scope_ref"], one["content"]) for one in listed] == [
        ("global", None, "Be brief."),
        ("account", None, "Be kind."),
        ("domain", "heating.example", "Mind the boiler."),
        ("sender", "boss@example.com", "She is the boss."),
    ]
    assert answer(AREAS.directions, "remove", made["direction_id"])["removed"]
    assert "there is no direction" in refusal(AREAS.directions, "remove", made["direction_id"])


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("", ), "content"),
        (("x" * 2001,), "content"),
        (("x", "--sender", "nobody"), "sender"),
        (("x", "--domain", "a@b.example"), "domain"),
        (("x", "--domain", "a.example", "--sender", "a@b.example"), "domain"),
    ],
)  # fmt: skip
def test_a_bad_direction_is_refused_by_field(account: Account, words: tuple[str, ...], field: str) -> None:
    assert f"invalid: {field}: " in refusal(AREAS.directions, "add", *words, "--account", account.email)


def test_a_label_is_described_by_its_name(account: Account, store: Database) -> None:
    words = ("describe", "receipts", "--account", account.email, "--description", "What I paid", "--for-classifier")
    assert answer(AREAS.labels, *words)["for_classifier"]
    (found,) = answer(AREAS.labels, "list", "--account", account.email)
    assert (found["label_id"], found["description"], found["for_classifier"]) == ("Label_1", "What I paid", True)
    answer(AREAS.labels, "describe", "Label_1", "--account", account.email, "--not-for-classifier")
    with store.tenant(account.org_id) as tx:
        (kept,) = stored.list_all(tx, account.account_id)
    assert (kept.description, kept.for_classifier) == ("What I paid", False), "what is left out stays"
    unknown = refusal(AREAS.labels, "describe", "Bills", "--account", account.email, "--for-classifier")
    assert "names no label" in unknown
    assert "nothing to change" in refusal(AREAS.labels, "describe", "Label_1", "--account", account.email)


def test_settings_are_shown_and_changed(account: Account, database: Connection) -> None:
    shown = answer(accounts, "settings", account.email)
    assert (shown["send_allowed"], shown["model_actions"]) == (False, ["archive", "mark_read", "star"])
    words = ("--send-allowed", "--model-action", "star", "--model-action", "trash", "--label-parent", "Robot")
    changed = answer(accounts, "set", account.email, *words, "--as", "ada")
    assert (changed["send_allowed"], changed["model_actions"]) == (True, ["star", "trash"])
    assert (changed["label_parent"], changed["agent_enabled"]) == ("Robot", False)
    assert answer(accounts, "set", account.email, "--model-action", "none")["model_actions"] == []
    assert "invalid: label_parent: " in refusal(accounts, "set", account.email, "--label-parent", "a/b")
    assert "invalid: model_actions: " in refusal(accounts, "set", account.email, "--model-action", "forward")
    assert "names no setting" in refusal(accounts, "set", account.email)
    row = database.execute("select count(*) from audit_log where event = 'account.set'").fetchone()
    assert row == (2,)


def test_the_safety_policy_is_shown_changed_and_removed(account: Account, database: Connection) -> None:
    safety, here = AREAS.safety, ("--account", account.email)
    default = {"confidence_floor": 0.7, "always_approve": [], "approve_from": "dangerous"}
    shown = answer(safety, "show", *here)
    assert shown == {"account_id": str(account.account_id), "saved": False, **default}
    assert answer(safety, "set", "--org", "an org", "--confidence-floor", "0.9")["account_id"] is None
    answer(safety, "set", *here, "--always-approve", "archive", "--approve-from", "reversible")
    holds = answer(accounts, "settings", account.email)["safety"]
    assert holds == {"confidence_floor": 0.9, "always_approve": ["archive"], "approve_from": "reversible"}
    assert answer(safety, "set", *here, "--always-approve", "none")["always_approve"] == []
    assert answer(safety, "remove", *here)["removed"]
    assert "no such policy" in refusal(safety, "remove", *here)
    assert answer(safety, "show", "--org", "an org")["confidence_floor"] == 0.9
    assert "invalid: confidence_floor" in refusal(safety, "set", *here, "--confidence-floor", "2")
    assert "invalid: account" in refusal(safety, "set", "--confidence-floor", "0.5")
    events = database.execute("select event from audit_entries where event like 'safety.%' order by id").fetchall()
    assert [event for (event,) in events] == ["safety.set"] * 3 + ["safety.removed"]


def test_a_mailbox_is_disconnected_once(account: Account, database: Connection) -> None:
    assert answer(accounts, "disconnect", account.email, "--reason", "leaves us")["status"] == "disconnected"
    row = database.execute("select status, status_reason, sealed_refresh_token from accounts").fetchone()
    assert row == ("disconnected", "leaves us", None)
    assert "is disconnected already" in refusal(accounts, "disconnect", account.account_id, "--reason", "again")
    assert "reason: " in refusal(accounts, "disconnect", account.account_id, "--reason", " ")
    events = database.execute("select count(*) from audit_log where event = 'account.disconnected'").fetchone()
    assert events == (1,)


def test_corrections_are_listed(account: Account) -> None:
    assert answer(accounts, "corrections", account.email) == []
    assert call(accounts, "corrections", account.email).stdout.strip() == "none"

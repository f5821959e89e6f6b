"""Mailboxes are connected from the command line, their tokens sealed and shown to nobody."""

from uuid import UUID

import pytest
from psycopg import Connection

from commands.accounts import accounts
from commands.operations import AREAS
from domain.jobs.gate_causes import Cause
from engine.runtime import Runtime
from storage.jobs import gates
from storage.jobs.gates import Gate
from storage.mail.accounts import tokens
from storage.orgs.secrets.sealing import Sealer
from tests.commands.calling import answer, call, refusal
from tests.doubles.mail_factories import connect_account, make_consent

EMAIL = "reader@example.com"
ACCESS, REFRESH = "ya29.access-token-of-the-test", "1//refresh-token-of-the-test"
GIVEN = ("--access-token", ACCESS, "--refresh-token", REFRESH)
ADD = ("add", "--org", "acme", "--email", EMAIL)
pytestmark = pytest.mark.usefixtures("process")


def token_of(process: Runtime, account_id: str) -> str:
    with process.database.ledger() as tx:
        held = tokens.current(tx, Sealer.of(process.settings), UUID(account_id))
    assert held.refresh_token is not None
    return held.refresh_token.get_secret_value()


def test_a_mailbox_is_connected_with_its_org_and_owner(process: Runtime, database: Connection) -> None:
    made = answer(accounts, *ADD, *GIVEN, "--as", "ada")
    assert made["created"]
    found = database.execute(
        "select o.name, u.email, u.role, a.email, a.status from accounts a join orgs o on o.id = a.org_id"
        " join users u on u.id = a.user_id"
    ).fetchall()
    assert found == [("acme", EMAIL, "owner", EMAIL, "active")]
    assert token_of(process, made["account_id"]) == REFRESH
    query = "select actor_id, org_id::text from audit_log where event = 'account.connected'"
    audited = database.execute(query).fetchall()
    assert audited == [("operator:ada", made["org_id"])]


def test_connecting_starts_the_onboarding_and_a_sync(database: Connection) -> None:
    made = answer(accounts, *ADD, *GIVEN, "--as", "ada")
    names = ["gmail.sync", "accounts.onboard"]
    assert [job["job_type"] for job in made["jobs"]] == names
    found = database.execute("select job_type, payload ->> 'account_id', actor_id from jobs").fetchall()
    assert set(found) == {(name, made["account_id"], "operator:ada") for name in names}
    reason = database.execute("select payload ->> 'reason' from jobs where job_type = 'gmail.sync'").fetchone()
    assert reason == ("connected",)


def test_an_address_names_the_open_account() -> None:
    first = answer(accounts, *ADD, *GIVEN)
    assert answer(accounts, "show", EMAIL.upper(), "--org", "acme")["account_id"] == first["account_id"]
    answer(accounts, "disconnect", EMAIL, "--reason", "left")
    assert EMAIL in refusal(accounts, "show", EMAIL)
    second = answer(accounts, *ADD, *GIVEN)
    assert answer(accounts, "show", EMAIL)["account_id"] == second["account_id"]
    assert {one["account_id"] for one in answer(accounts, "list")} == {first["account_id"], second["account_id"]}
    assert [one["account_id"] for one in answer(accounts, "list", "--email", EMAIL)] == [second["account_id"]]
    newest = call(accounts, "list", "--limit", 1)
    assert len(answer(accounts, "list", "--cursor", newest.stderr.split()[-1])) == 1


def test_connecting_again_renews_the_consent_of_the_same_account(process: Runtime) -> None:
    first = answer(accounts, *ADD, *GIVEN)
    again = answer(accounts, *ADD, "--access-token", "other", "--refresh-token", "renewed")
    assert (again["account_id"], again["created"]) == (first["account_id"], False)
    assert token_of(process, first["account_id"]) == "renewed"


def test_renewed_consent_opens_the_frames_gate_and_no_persons(process: Runtime) -> None:
    account = answer(accounts, *ADD, *GIVEN)["account_id"]
    paused = answer(accounts, "add", "--org", "acme", "--email", "paused@example.com", *GIVEN)["account_id"]
    with process.database.ledger() as tx:
        gates.close(tx, Gate("account", account, "consent is gone", None, "postroom", Cause.CONSENT))
        gates.close(tx, Gate("account", paused, "under repair", None, "operator:ada"))
    answer(accounts, *ADD, *GIVEN)
    answer(accounts, "add", "--org", "acme", "--email", "paused@example.com", *GIVEN)
    with process.database.ledger() as tx:
        assert [gate.key for gate in gates.closed(tx)] == [paused]


def test_renewed_consent_leaves_a_pause_of_the_same_account(process: Runtime) -> None:
    """The pause was once swallowed by the gate of the lost consent, which the new consent opens."""
    account = answer(accounts, *ADD, *GIVEN)["account_id"]
    with process.database.ledger() as tx:
        gates.close(tx, Gate("account", account, "needs_reconsent: revoked", None, "postroom", Cause.CONSENT))
    answer(AREAS.gates, "close", "account", account, "--reason", "under repair", "--seconds", 3600, "--as", "ada")
    answer(accounts, *ADD, *GIVEN)
    (left,) = answer(AREAS.gates, "list")
    assert (left["cause"], left["reason"], left["actor"]) == ("pause", "under repair", "operator:ada")


def test_tokens_may_come_by_standard_input(process: Runtime) -> None:
    made = answer(accounts, *ADD, typed=f"{ACCESS}\n{REFRESH}\n")
    assert token_of(process, made["account_id"]) == REFRESH


def test_tokens_may_come_by_the_environment(process: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_ACCOUNT_ACCESS_TOKEN", ACCESS)
    monkeypatch.setenv("POSTROOM_ACCOUNT_REFRESH_TOKEN", REFRESH)
    assert token_of(process, answer(accounts, *ADD)["account_id"]) == REFRESH


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*ADD, "--access-token", ACCESS), "refresh_token: is missing"),
        (("add", "--org", "acme", "--email", "no address", *GIVEN), "email: is no address"),
        ((*ADD, "--owner", "nobody", *GIVEN), "owner: is no address"),
    ],
)
def test_a_bad_order_connects_nothing(arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal(accounts, *arguments, typed="")
    assert answer(accounts, "list") == []


def test_a_list_shows_no_token(process: Runtime) -> None:
    answer(accounts, *ADD, *GIVEN)
    answer(accounts, "add", "--org", "other", "--email", "other-" + EMAIL, *GIVEN)
    assert process
    listed = answer(accounts, "list", "--org", "acme")
    assert [(account["email"], account["status"]) for account in listed] == [(EMAIL, "active")]
    for output in (call(accounts, "list").output, call(accounts, "list", "--json").output):
        assert output.count(EMAIL) >= 2
        assert ACCESS not in output
        assert REFRESH not in output


def test_resealing_puts_every_token_under_the_first_key(process: Runtime) -> None:
    made = answer(accounts, *ADD, *GIVEN, "--as", "ada")
    old = process.settings.sealing_keys.get_secret_value()
    process.sealer = Sealer(["a new key", old])
    assert answer(accounts, "reseal") == {"accounts": 1}
    assert answer(accounts, "reseal") == {"accounts": 0}
    with process.database.ledger() as tx:
        held = tokens.current(tx, Sealer(["a new key"]), UUID(made["account_id"]))
    assert held.refresh_token is not None
    assert held.refresh_token.get_secret_value() == REFRESH


def test_older_mail_is_asked_for_by_the_mailbox_s_address(database: Connection) -> None:
    made = answer(accounts, *ADD, *GIVEN)
    options = ("--query", "from:anna", "--since", "2026-01-01T00:00:00Z", "--classify", "--most", 50, "--as", "ada")
    job = answer(accounts, "backfill", EMAIL.upper(), *options)
    assert job["created"]
    assert not answer(accounts, "backfill", made["account_id"], *options)["created"], "the same search is one job"
    row = database.execute("select payload, actor_id, queue from jobs where id = %s", (job["job_id"],)).fetchone()
    payload = {"account_id": made["account_id"], "query": "from:anna", "since": "2026-01-01T00:00:00Z", "until": None}
    assert row == (payload | {"classify": True, "most": 50}, "operator:ada", "maintenance")
    assert answer(accounts, "backfills", EMAIL) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("nobody@example.com",), "there is no account nobody@example.com"),
        (("00000000-0000-4000-8000-000000000001",), "there is no account"),
        ((EMAIL, "--since", "yesterday"), "payload.since"),
        ((EMAIL, "--since", "2026-02-01T00:00:00Z", "--until", "2026-01-01T00:00:00Z"), "is not after since"),
    ],
)
def test_what_cannot_be_backfilled_is_refused_by_its_field(words: tuple[str, ...], reason: str) -> None:
    answer(accounts, *ADD, *GIVEN)
    assert reason in refusal(accounts, "backfill", *words)


def test_a_mailbox_of_two_orgs_must_be_named_by_its_id(process: Runtime) -> None:
    """Only what was stored before an installation refused the second org."""
    answer(accounts, *ADD, *GIVEN)
    with process.database.ledger() as tx:
        connect_account(tx, process.sealer, "other", EMAIL, make_consent())
    assert "several orgs have connected" in refusal(accounts, "backfill", EMAIL)


def test_a_mailbox_of_another_org_is_refused_until_it_is_disconnected_there(database: Connection) -> None:
    answer(accounts, *ADD, *GIVEN)
    elsewhere = ("add", "--org", "other", "--email", EMAIL.upper(), *GIVEN)
    assert "oauth.other_org: " in refusal(accounts, *elsewhere)
    assert database.execute("select count(*) from accounts").fetchone() == (1,)
    assert database.execute("select count(*) from orgs where name = 'other'").fetchone() == (0,)
    answer(accounts, "disconnect", EMAIL, "--reason", "it moves")
    assert answer(accounts, *elsewhere)["created"]


def test_a_mailbox_stays_with_the_google_user_who_connected_it(process: Runtime) -> None:
    first = answer(accounts, *ADD, *GIVEN, "--google-user", "117")
    renewed = ("--access-token", "other", "--refresh-token", "renewed")
    said = refusal(accounts, *ADD, *renewed, "--google-user", "118")
    assert "oauth.other_user: " in said
    said = refusal(accounts, *ADD, *renewed)
    assert "oauth.unknown_user: " in said
    assert token_of(process, first["account_id"]) == REFRESH
    answer(accounts, *ADD, *renewed, "--google-user", "117")
    assert token_of(process, first["account_id"]) == "renewed"

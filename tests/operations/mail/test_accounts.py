"""A mailbox is named by its id or its address in every command, and a closed account takes nothing that is written."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import click
import pytest
from psycopg import Connection

from commands.command_line.every_command import COMMANDS
from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import Origin
from domain.mail.triage.prompts import RuleScope
from domain.orgs.access.api_keys import Role
from operations.mail.accounts import account_of, target_of, target_to_write
from storage.mail.accounts import accounts, connecting
from storage.mail.accounts.accounts import Account
from storage.mail.accounts.connecting import AddedMailbox, OrgMailbox
from storage.mail.rules import directions
from storage.mail.rules.rules import Reach
from storage.postgres.database import Database
from tests.commands.calling import call
from tests.doubles.mail_factories import SEALER, make_account, make_consent
from tests.gateway.api.conftest import Client, client_of
from tests.waiting import patient, until_a_lock_is_waited_for

MOST_COMMANDS_AGREE = 10
"""There are more commands about one mailbox than this; the walk has found them."""


def test_every_command_takes_a_mailbox_as_text() -> None:
    groups = [one for one in COMMANDS.values() if isinstance(one, click.Group)]
    found = [
        (f"{group.name} {command.name}", parameter)
        for group in groups
        for command in group.commands.values()
        for parameter in command.params
        if parameter.name in {"account", "account_id"} or "--account" in parameter.opts
    ]
    assert len(found) > MOST_COMMANDS_AGREE
    for command_name, parameter in found:
        named = "ACCOUNT" if isinstance(parameter, click.Argument) else "--account"
        assert named in {parameter.human_readable_name, *parameter.opts}, command_name
        assert parameter.type is click.STRING, command_name


def test_a_mailbox_is_found_by_id_or_address_in_any_case(store: Database) -> None:
    account = make_account(store)
    with store.ledger() as tx:
        for text in (str(account.account_id), account.email, account.email.upper()):
            for org_id in (None, account.org_id):
                assert account_of(tx, text, org_id).account_id == account.account_id


def test_what_is_no_mailbox_is_named(store: Database) -> None:
    account, other = make_account(store), make_account(store, org="another org")
    with store.ledger() as tx:
        for text in (str(uuid4()), "nobody", "no@example.com", ""):
            with pytest.raises(Gone, match=f"there is no account {text}$"):
                account_of(tx, text)
        with pytest.raises(Gone, match=f"there is no account {account.account_id} in the org"):
            account_of(tx, str(account.account_id), other.org_id)
        with pytest.raises(Invalid, match=f"several orgs have connected {account.email}; give the id"):
            account_of(tx, account.email)
        assert account_of(tx, account.email, other.org_id).account_id == other.account_id


RULES = {"rules": [{"name": "Lunch", "when": {"from": "ada@example.org"}, "then": {"class": "fyi"}}]}
BY_HTTP: dict[str, Any] = {
    "POST /v1/rules": RULES,
    "POST /v1/directions": {"content": "Mail about the boiler is urgent."},
    "POST /v1/actions": {"message_id": "m1", "action": {"kind": "archive"}},
    "PATCH /v1/accounts/{account_id}/labels/{label_id}": {"description": "What I paid"},
    "PATCH /v1/accounts/{account_id}/settings": {"send_allowed": True},
    "PATCH /v1/safety": {"approve_from": "safe"},
    "DELETE /v1/safety": None,
    "POST /v1/accounts/{account_id}/renew-watch": None,
    "POST /v1/accounts/{account_id}/sync": None,
    "POST /v1/accounts/{account_id}/messages/{message_id}/reclassify": None,
    "POST /v1/accounts/{account_id}/disconnect": None,
}
"""Each route that writes for the account that it names, with a body that is right."""
TRIES = {"POST /v1/bulk-actions", "POST /v1/rules/test", "POST /v1/rules/{rule_id}/test"}
"""Routes that name an account and write nothing for it; a bulk action meets the jobs that it has had."""
PROFILE = '{"prompt": "Be kind.", "model": "claude-haiku-5-5", "tools": ["read_thread"]}'
SCHEDULED = {"name": "n", "job_type": "gmail.sync", "cron": "0 0 * * *"}
BY_COMMAND: dict[str, tuple[str, ...]] = {
    "accounts set": ("{}", "--send-allowed"),
    "accounts backfill": ("{}",),
    "accounts renew-watch": ("{}",),
    "accounts sync": ("{}",),
    "accounts reclassify": ("{}", "m1"),
    "accounts disconnect": ("{}", "--reason", "again"),
    "actions request": ("--account", "{}", "--message-id", "m1", "--action", '{"kind": "archive"}'),
    "agents add": ("desk", "--org", "an org", "--account", "{}", "--profile", PROFILE),
    "agents disable": ("desk", "--org", "an org", "--account", "{}"),
    "agents enable": ("desk", "--org", "an org", "--account", "{}"),
    "directions add": ("Be kind.", "--account", "{}"),
    "labels describe": ("Label_1", "--account", "{}", "--description", "x"),
    "rules add": ("-", "--account", "{}"),
    "safety remove": ("--account", "{}"),
    "safety set": ("--account", "{}", "--approve-from", "safe"),
}
"""Each command that writes for the account that it names."""
WRITTEN = ("rules", "safety_policies", "agent_profiles", "schedules", "actions", "jobs", "gates")


@pytest.fixture
def closed(store: Database) -> Account:
    account = make_account(store)
    with store.ledger() as tx:
        accounts.disconnect(tx, account.account_id, "its owner left")
    make_account(store)
    return account


def written(database: Connection) -> dict[str, object]:
    """How many rows there are of what a deed could have written."""
    return {table: database.execute(f"select count(*) from {table}").fetchone() for table in WRITTEN}


def names_account(operation: dict[str, Any], schemas: dict[str, Any]) -> bool:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    fields = schemas.get(body.get("$ref", "").rpartition("/")[2], body).get("properties", {})
    return "account_id" in {*fields, *(one["name"] for one in operation.get("parameters", ()))}


def test_every_route_that_writes_for_an_account_refuses_a_closed_one(
    store: Database, door: str, database: Connection, closed: Account
) -> None:
    client: Client = client_of(store, door, closed.org_id, Role.OPERATOR)
    described = client.get("/v1/openapi.json").json
    named = {
        f"{verb.upper()} {path}"
        for path, verbs in described["paths"].items()
        for verb, operation in verbs.items()
        if verb != "get" and names_account(operation, described["components"]["schemas"])
    }
    assert named == BY_HTTP.keys() | TRIES
    before = written(database)
    send = {"POST": client.post, "PATCH": client.change, "DELETE": lambda path, _body: client.delete(path)}
    for route, body in BY_HTTP.items():
        document, (verb, _, path) = body, route.partition(" ")
        if "{account_id}" in path:
            path = path.format(account_id=closed.account_id, label_id="Label_1", message_id="m1")
        elif path == "/v1/actions":
            document = body | {"account_id": str(closed.account_id)}
        else:
            path = f"{path}?account_id={closed.account_id}"
        answer = send[verb](path, document)
        assert answer.status == 409, (route, answer.json)
    payload = {"account_id": str(closed.account_id)}
    assert client.post("/v1/schedules", SCHEDULED | {"payload": payload}).status == 409
    assert written(database) == before


@pytest.mark.usefixtures("process")
def test_every_command_that_writes_for_an_account_refuses_a_closed_one(database: Connection, closed: Account) -> None:
    groups = {name: one for name, one in COMMANDS.items() if isinstance(one, click.Group)}
    named = {
        f"{group.name} {command.name}"
        for group in groups.values()
        for command in group.commands.values()
        if {"account", "account_id"} & {one.name for one in command.params}
        and "operator_name" in {one.name for one in command.params}
    }
    assert named == BY_COMMAND.keys() | {"bulk start"}  # which meets the jobs that the account has had
    before = written(database)
    for name, words in BY_COMMAND.items():
        group, _, command = name.partition(" ")
        given = [str(closed.account_id) if word == "{}" else word for word in words]
        result = call(groups[group], command, *given, typed="rules: []" if group == "rules" else None)
        assert (result.exit_code, "disconnected" in result.stderr) == (1, True), (name, result.output)
    refused = call(groups["gates"], "close", "account", closed.account_id, "--reason", "a pause")
    assert (refused.exit_code, "disconnected" in refused.stderr) == (1, True)
    assert written(database) == before


def test_a_mailbox_or_an_org_is_named_and_another_orgs_mailbox_looks_like_none(store: Database) -> None:
    account, other = make_account(store), make_account(store, org="another org")
    with store.ledger() as tx:
        for find in (target_of, target_to_write):
            assert find(tx, None, account.org_id).account_id is None
            assert find(tx, account.account_id, None).org_id == account.org_id
            with pytest.raises(Gone, match="there is no account"):
                find(tx, account.account_id, other.org_id)
            with pytest.raises(Invalid, match="give one mailbox, or a whole org"):
                find(tx, None, None)


def test_a_disconnection_waits_for_what_is_being_written_and_the_next_connection_has_it(
    store: Database, database: Connection
) -> None:
    account = make_account(store)
    database.execute("update accounts set google_subject = '117'")

    def connect_again() -> UUID:
        with patient(store.ledger()) as tx:
            accounts.disconnect(tx, account.account_id, "left")
        mailbox = OrgMailbox(account.org_id, account.email, account.email)
        consent = replace(make_consent(), subject="117")
        with patient(store.ledger()) as tx:
            added = connecting.connect(tx, SEALER, mailbox, consent, by=Origin())
        assert isinstance(added, AddedMailbox)
        return added.account.account_id

    with ThreadPoolExecutor(1) as threads:
        with store.ledger() as tx:
            target = target_to_write(tx, account.account_id, account.org_id)
            reach = Reach(RuleScope.ACCOUNT, target.account_id, None)
            made = directions.add(tx, target.org_id, reach, "Mail about the boiler is urgent.")
            again = threads.submit(connect_again)
            until_a_lock_is_waited_for(database, describe="nobody waits for the account")
        next_id = again.result(timeout=30)
    row = database.execute("select account_id from rules where id = %s", (made,)).fetchone()
    assert row == (next_id,) == (account.account_id,)

"""What an operator gives is refused by its field at each entry point: command line and HTTP."""

from collections.abc import Iterator

import pytest

from commands.command_line.every_command import COMMANDS
from domain.mail.actions.requested_action import parse_action
from domain.mail.rule_language.rule_file import read_rule_document
from domain.mail.triage.safety import SafetyEnforcer
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from settings import Settings
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.mail.rules import kept_rules
from storage.postgres.database import Database
from tests.commands.calling import call
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one
from tests.doubles.mail_factories import make_account, store_message
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve

Ids = dict[str, object]

TEXTS: dict[str, tuple[str, str, int, str]] = {
    # What it is: the command, the field, how long it may be, and the route that takes the same.
    "why a gate is closed": ("gates close fleet --reason", "reason", 1_000, ""),
    "what a key is for": ("keys create --org {org} --role reader --name", "name", 200, ""),
    "why a job is canceled": ("jobs cancel {job} --reason", "reason", 1_000, "/v1/jobs/{job}/cancel"),
    "why a job is retried": ("jobs retry {job} --reason", "reason", 1_000, "/v1/jobs/{job}/retry"),
    "why a letter is discarded": ("deadletters discard {job} --reason", "reason", 1_000, ""),
    "why one is approved": ("approvals approve {action} --reason", "reason", 1_000, "/v1/approvals/{action}/approve"),
    "why one is denied": ("approvals deny {action} --reason", "reason", 1_000, "/v1/approvals/{action}/deny"),
    "why a rule is off": ("rules disable {rule} --reason", "reason", 300, "/v1/rules/{rule}/disable"),
    "why an agent stops": ("agents disable desk --org {org} --reason", "reason", 300, ""),
    "why it goes": ("accounts disconnect {account} --reason", "reason", 500, "/v1/accounts/{account}/disconnect"),
    "whose it is": ("accounts add --email a@b.example --access-token x --refresh-token y --org", "org", 200, ""),
}  # fmt: skip


@pytest.fixture
def account(store: Database, process: Runtime) -> Account:
    """A mailbox with a message."""
    assert process.database is not None
    account = make_account(store)
    store_message(store, account)
    return account


@pytest.fixture
def ids(store: Database, account: Account) -> Ids:
    """What the commands and routes name."""
    rule = read_rule_document({"name": "x", "when": {"subject": "x"}, "then": {"class": "fyi"}})
    delete = SafetyEnforcer().check_request(parse_action({"kind": "delete"}))
    with store.ledger() as tx:
        (rule_id,) = kept_rules.add(tx, account.org_id, account.account_id, rule)
        action_id = actions.request(tx, account.account_id, "m1", delete, requested_by="a test")
    job_id = enqueue_one(store, account.org_id, probe_jobs.noop.name)
    named: dict[str, object] = {"org": account.org_id, "account": account.account_id, "job": job_id}
    return named | {"rule": rule_id, "action": action_id}


@pytest.fixture
def client(store: Database, settings: Settings, account: Account) -> Iterator[Client]:
    """An operator's key of the mailbox's org."""
    with serve(settings) as url:
        yield client_of(store, url, account.org_id, Role.OPERATOR)


@pytest.mark.parametrize("what", TEXTS)
def test_a_command_refuses_a_text_that_is_too_long_or_blank_by_its_field(ids: Ids, what: str) -> None:
    command, field, most, _ = TEXTS[what]
    group, *words = command.format_map(ids).split()
    for text in (" ", "x" * (most + 1)):
        refused = call(COMMANDS[group], *words, text)
        assert refused.exit_code == 1
        assert f"{field}: " in refused.output


def test_the_routes_refuse_the_same_texts(ids: Ids, client: Client) -> None:
    for what, (_, field, most, route) in TEXTS.items():
        for text in (" ", "x" * (most + 1)) if route else ():
            answer = client.post(route.format_map(ids), {field: text})
            assert (answer.status, answer.json["field"]) == (422, field), what

"""Rules and directions over HTTP: written, tried, mended; refused by JSON pointer; each org sees its own."""

from contextlib import ExitStack
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Throttled
from domain.mail.mailbox import MailboxLabel
from domain.orgs.access.api_keys import Role
from gateway.http.resources import TRIALS_AT_ONCE, Resources
from settings import Settings
from storage.mail.accounts import labels
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account, store_message
from tests.gateway.api.conftest import Client, client_of

RULE: dict[str, Any] = {
    "name": "Lunch",
    "when": {"from": "ada@example.org"},
    "then": {"class": "fyi", "actions": [{"apply_label": "Friends"}, "delete"]},
}
TOLD: dict[str, Any] = {"name": "Boss", "tell": "She needs an answer.", "for": {"sender": "boss@example.com"}}


@pytest.fixture
def account(store: Database) -> Account:
    """A mailbox with a message of Ada's and a label."""
    account = make_account(store)
    store_message(store, account)
    sync(store, account, "Friends")
    return account


@pytest.fixture
def client(store: Database, door: str, account: Account) -> Client:
    """A writer's key of the mailbox's org."""
    return client_of(store, door, account.org_id, Role.WRITER)


def sync(store: Database, account: Account, *names: str) -> None:
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [MailboxLabel(f"Label_{name}", name, "user") for name in names])


def add(client: Client, account: Account, *rules: dict[str, Any]) -> list[str]:
    answer = client.post(f"/v1/rules?account_id={account.account_id}", {"rules": list(rules)})
    assert answer.status == 201, answer.body
    return [one["rule_id"] for one in answer.json["rules"]]


def test_rules_are_saved_listed_and_read_as_they_were_written(
    client: Client, account: Account, database: Connection
) -> None:
    rule_id, _ = add(client, account, RULE, TOLD)
    listed = client.get(f"/v1/rules?account_id={account.account_id}").json["rules"]
    assert [one["kind"] for one in listed] == ["when", "tell"]
    assert listed[1]["rule"] == TOLD
    read = client.get(f"/v1/rules/{rule_id}").json
    assert read["rule"]["then"]["actions"] == [{"apply_label": "Label_Friends"}, "delete"]
    query = "select actor_type, actor_id, org_id from audit_log where event = 'rules.added'"
    assert database.execute(query).fetchone() == ("api_key", str(client.key_id), account.org_id)


@pytest.mark.parametrize(
    ("document", "pointer", "reason"),
    [
        ({**RULE, "when": {"sujbect": "x"}}, "/when/sujbect", "is not known here"),
        ({"rules": [RULE, {**RULE, "then": {"actions": ["explode"]}}]}, "/rules/1/then/actions/0", "must be one of"),
        ([{**RULE, "when": {"label": "Foes"}}], "/0/when/label", "names no label"),
        ({**RULE, "when": {"body": {"matches": "(a|aa)+(?<=b)c$"}}}, "/when/body/matches", "no look-around"),
        (None, "/", "holds no rule"),
        ("rule", "/", "must be a mapping"),
    ],
)
def test_a_mistake_is_refused_by_its_pointer(
    client: Client, account: Account, document: object, pointer: str, reason: str
) -> None:
    answer = client.post(f"/v1/rules?account_id={account.account_id}", document)
    assert (answer.status, answer.json["field"]) == (422, pointer)
    assert reason in answer.json["reason"]
    assert client.get("/v1/rules").json["rules"] == []


def test_a_rule_is_tried_saved_or_not(client: Client, account: Account, database: Connection) -> None:
    where = f"account_id={account.account_id}"
    unsaved = client.post(f"/v1/rules/test?{where}", RULE)
    assert (unsaved.status, unsaved.json["examined"], unsaved.json["matched"]) == (200, 1, 1)
    (line,) = unsaved.json["messages"]
    assert [(one["kind"], one["status"]) for one in line["actions"]] == [
        ("apply_label", "queued"),
        ("delete", "approved_pending"),
    ]
    assert database.execute("select count(*) from rules").fetchone() == (0,)
    rule_id, told_id = add(client, account, {**RULE, "when": {"from": "bob@example.org"}}, TOLD)
    assert client.post(f"/v1/rules/{rule_id}/test?{where}").json["messages"] == []
    (missed,) = client.post(f"/v1/rules/{rule_id}/test?{where}&all=true").json["messages"]
    assert (missed["matched"], missed["reason"]) == (False, 'when: {"from": "bob@example.org"} does not hold')
    assert client.post(f"/v1/rules/{told_id}/test?{where}").status == 422
    assert client.post("/v1/rules/test", RULE).json["field"] == "account_id"


def test_a_rule_is_turned_mended_and_removed(client: Client, account: Account, store: Database) -> None:
    (rule_id,) = add(client, account, RULE)
    assert client.post(f"/v1/rules/{rule_id}/disable", {"reason": "too eager"}).json["why_off"] == "too eager"
    assert client.post(f"/v1/rules/{rule_id}/enable").json["enabled"]
    sync(store, account, "Others")
    (off,) = client.get("/v1/rules?enabled=false").json["rules"]
    assert off["why_off"] == "Label 'Friends' was deleted from Gmail"
    assert client.post(f"/v1/rules/{rule_id}/enable").status == 409
    mended = client.put(f"/v1/rules/{rule_id}", {**RULE, "then": {"actions": [{"apply_label": "Others"}]}})
    assert (mended.status, mended.json["enabled"], mended.json["why_off"]) == (200, True, None)
    assert client.put(f"/v1/rules/{rule_id}", TOLD).json["field"] == "rule"
    assert client.delete(f"/v1/rules/{rule_id}").json["rule_id"] == rule_id
    assert client.get(f"/v1/rules/{rule_id}").status == 404


def test_directions_are_added_listed_and_removed(client: Client, account: Account) -> None:
    made = client.post(
        f"/v1/directions?account_id={account.account_id}", {"content": "Be kind.", "domain": "A.example"}
    )
    assert (made.status, made.json["scope"], made.json["scope_ref"]) == (201, "domain", "a.example")
    (found,) = client.get("/v1/directions").json["directions"]
    assert found["content"] == "Be kind."
    assert client.delete(f"/v1/directions/{found['direction_id']}").json["removed"]
    assert client.delete(f"/v1/directions/{found['direction_id']}").status == 404
    for field, document in (
        ("content", {}),
        ("content", {"content": "\0"}),
        ("sender", {"content": "x", "sender": "bob"}),
        ("tone", {"content": "x", "tone": 1}),
        ("document", []),
    ):
        assert client.post("/v1/directions", document).json["field"] == field


def test_another_orgs_key_finds_nothing(client: Client, stranger: Client, account: Account) -> None:
    (rule_id,) = add(client, account, RULE)
    made = client.post(f"/v1/directions?account_id={account.account_id}", {"content": "Be kind."}).json
    here = f"account_id={account.account_id}"
    assert stranger.get("/v1/rules").json == {"rules": []}
    assert stranger.get("/v1/directions").json == {"directions": []}
    answers = [
        stranger.get(f"/v1/rules?{here}"),
        stranger.get(f"/v1/rules/{rule_id}"),
        stranger.post(f"/v1/rules?{here}", RULE),
        stranger.post(f"/v1/rules/test?{here}", RULE),
        stranger.post(f"/v1/rules/{rule_id}/test?{here}"),
        stranger.post(f"/v1/rules/{rule_id}/disable"),
        stranger.post(f"/v1/rules/{rule_id}/enable"),
        stranger.put(f"/v1/rules/{rule_id}", RULE),
        stranger.delete(f"/v1/rules/{rule_id}"),
        stranger.get(f"/v1/directions?{here}"),
        stranger.post(f"/v1/directions?{here}", {"content": "x"}),
        stranger.delete(f"/v1/directions/{made['direction_id']}"),
    ]
    assert [one.status for one in answers] == [404] * len(answers)
    assert client.get(f"/v1/rules/{rule_id}").json["enabled"]


def test_a_reader_may_look_and_no_more(store: Database, door: str, account: Account) -> None:
    reader = client_of(store, door, account.org_id, Role.READER)
    assert reader.get("/v1/rules").status == reader.get("/v1/directions").status == 200
    rule_id = uuid4()
    answers = [
        reader.post("/v1/rules", RULE),
        reader.put(f"/v1/rules/{rule_id}", RULE),
        reader.delete(f"/v1/rules/{rule_id}"),
        reader.post(f"/v1/rules/{rule_id}/enable"),
        reader.post("/v1/directions", {"content": "x"}),
    ]
    assert [one.status for one in answers] == [403] * len(answers)


def test_few_rules_are_tried_at_a_time_and_one_of_each_org(settings: Settings) -> None:
    trials = Resources.of(settings).trials
    orgs = [UUID(int=n) for n in range(TRIALS_AT_ONCE + 1)]
    with ExitStack() as held:
        for org_id in orgs[:-1]:
            held.enter_context(trials.hold(org_id))
            with pytest.raises(Throttled), trials.hold(org_id):
                pytest.fail("another of the same org")
        with pytest.raises(Throttled), trials.hold(orgs[-1]):
            pytest.fail("one more than there are places")
    with trials.hold(orgs[0]) as place:
        assert place is None

"""Approvals by command and by HTTP: what waits is shown, one decision counts, and what follows is enqueued with it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.approvals.decision import Choice, Refusal
from domain.approvals.question import WORDS
from domain.jobs.failures import Conflict
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.safety import CheckedAction
from domain.orgs.access.api_keys import Role
from engine.enqueue import enqueue
from engine.runtime import Runtime
from operations.approvals.approvals import DECISIONS, approve, choose_channel, list_approvals
from operations.operation import OperatorsOnly
from operations.pages import Window
from storage.approvals import approvals
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.postgres.database import Database
from tests.commands.calling import answer, call, refusal
from tests.doubles.calls import call_by
from tests.doubles.mail_factories import make_account, store_message
from tests.doubles.workflows.asking_nodes import asking_node, node_state
from tests.gateway.api.conftest import Client, client_of

COMMANDS = AREAS.approvals


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


def waiting(store: Database, account: Account, *, lasts: timedelta = timedelta(days=1)) -> UUID:
    checked = CheckedAction(Delete(), ActionStatus.APPROVED_PENDING, Delete.danger, ("it is dangerous",))
    with store.ledger() as tx:
        made = actions.request(tx, account.account_id, "m1", checked, requested_by="a test")
        approvals.request(tx, account.account_id, [made], partial(enqueue, org_id=account.org_id), lasts=lasts)
    return made


def asked(store: Database, account: Account, *, lasts: timedelta = timedelta(days=1)) -> UUID:
    return asking_node(store, account.org_id, show={"words": 12}, lasts=lasts)


Ask = Callable[..., UUID]
SUBJECTS = pytest.mark.parametrize("ask", [waiting, asked], ids=["action", "node"])
"""What people are asked about."""


def jobs(database: Connection) -> list[str]:
    return [row[0] for row in database.execute("select job_type from jobs order by created_at, id")]


def audited(database: Connection) -> list[tuple[str, str]]:
    return database.execute(
        "select event, actor_id from audit_entries where event like 'approval.%' order by id"
    ).fetchall()


def test_what_waits_is_listed_shown_and_approved_by_command(
    store: Database, account: Account, database: Connection
) -> None:
    made = str(waiting(store, account))
    ((listed),) = answer(COMMANDS, "list", "--org", account.org_id, "--account", account.email)
    assert (listed["approval_id"], listed["why"], listed["org_id"]) == (made, "it is dangerous", str(account.org_id))
    shown = answer(COMMANDS, "show", made)
    assert (shown["approval_id"], shown["about"], shown["messages"]) == (made, "action", [])
    assert shown["question"]["Mailbox"] == account.email
    decided = answer(COMMANDS, "approve", made, "--as", "ada", "--reason", "fine")
    assert (decided["state"], decided["approver"], decided["reason"]) == ("approved", "operator:ada", "fine")
    assert decided["action"]["job_id"] is not None
    assert answer(COMMANDS, "list", "--org", account.org_id) == []
    assert jobs(database) == ["approvals.notify", "actions.execute", "approvals.show_outcome"]
    assert audited(database) == [("approval.approved", "operator:ada")]
    assert "Approved by operator:ada" in refusal(COMMANDS, "deny", made)
    assert "there is no action" in refusal(COMMANDS, "deny", uuid4())


def test_what_waits_is_listed_shown_and_denied_by_http(
    operator: Client, store: Database, account: Account, database: Connection
) -> None:
    made = str(waiting(store, account))
    (listed,) = operator.get("/v1/approvals").json["approvals"]
    assert (listed["approval_id"], listed["action"]["state"]) == (made, "approved_pending")
    assert operator.get(f"/v1/approvals?account_id={uuid4()}").json == {"approvals": [], "next_cursor": None}
    assert operator.get(f"/v1/approvals/{made}").json["question"]["Mailbox"] == account.email
    denied = operator.post(f"/v1/approvals/{made}/deny", {"reason": "no"}).json
    key = f"api_key:{operator.key_id}"
    assert (denied["state"], denied["approver"], denied["reason"]) == ("denied", key, "no")
    again = operator.post(f"/v1/approvals/{made}/approve")
    assert (again.status, again.json["code"]) == (409, "approval.closed")
    assert f"Denied by {key}" in again.json["detail"]
    assert "actions.execute" not in jobs(database)
    assert audited(database) == [("approval.denied", str(operator.key_id))]


def test_a_node_of_a_workflow_is_listed_shown_and_approved_by_command(
    store: Database, account: Account, database: Connection
) -> None:
    made = str(asked(store, account))
    ((listed),) = answer(COMMANDS, "list", "--org", account.org_id)
    assert (listed["approval_id"], listed["about"], listed["title"]) == (made, "workflow", "Send the brief?")
    assert answer(COMMANDS, "list", "--org", account.org_id, "--account", account.email) == []
    shown = answer(COMMANDS, "show", made)
    assert (shown["node"]["show"], shown["question"]["words"]) == ({"words": 12}, "12")
    decided = answer(COMMANDS, "approve", made, "--as", "ada", "--reason", "fine")
    assert (decided["state"], decided["approver"], decided["reason"]) == ("approved", "operator:ada", "fine")
    assert node_state(store, UUID(made)) == ("succeeded", None)
    assert sorted(jobs(database)) == ["approvals.show_outcome", "workflows.advance"]
    assert audited(database) == [("approval.approved", "operator:ada")]
    assert "Approved by operator:ada" in refusal(COMMANDS, "deny", made)


def test_a_node_that_is_denied_has_failed(operator: Client, store: Database, account: Account) -> None:
    made = asked(store, account)
    denied = operator.post(f"/v1/approvals/{made}/deny", {"reason": "no"}).json
    assert (denied["state"], denied["reason"]) == ("denied", "no")
    assert node_state(store, made) == ("failed", "approval.denied")


def test_pages_of_the_list_have_actions_and_nodes_in_one_order(
    operator: Client, store: Database, account: Account
) -> None:
    ids = [str(ask(store, account)) for ask in (waiting, asked, waiting, asked, asked)]
    found, cursor = [], ""
    while cursor is not None:
        page = operator.get(f"/v1/approvals?limit=2{cursor and f'&cursor={cursor}'}").json
        found += [one["approval_id"] for one in page["approvals"]]
        cursor = page["next_cursor"]
    assert found == ids[::-1]


def test_pages_of_the_list_follow_each_other(operator: Client, store: Database, account: Account) -> None:
    ids = [str(waiting(store, account)) for _ in range(3)]
    first = operator.get("/v1/approvals?limit=2").json
    rest = operator.get(f"/v1/approvals?limit=2&cursor={first['next_cursor']}").json
    assert [one["approval_id"] for one in (*first["approvals"], *rest["approvals"])] == ids[::-1]
    assert rest["next_cursor"] is None
    by_operator = list_approvals(call_by("anna", store, org_id=account.org_id), Window(2, first["next_cursor"]))
    assert [str(one.approval_id) for one in by_operator.items] == ids[:1]


def test_what_is_denied_is_never_executed(store: Database, account: Account) -> None:
    made = waiting(store, account)
    assert DECISIONS[Choice.DENY](call_by("anna", store), made).state == "denied"
    with store.tenant(account.org_id) as tx:
        assert not actions.begin(tx, made, UUID(int=1))


@SUBJECTS
def test_after_the_end_nobody_decides(store: Database, account: Account, ask: Ask) -> None:
    made = ask(store, account, lasts=timedelta(0))
    with pytest.raises(Conflict, match=WORDS[Refusal.EXPIRED]):
        approve(call_by("anna", store), made)


@SUBJECTS
def test_of_decisions_at_once_one_counts(store: Database, account: Account, database: Connection, ask: Ask) -> None:
    made = ask(store, account)

    def press(choice: Choice) -> str:
        try:
            return str(DECISIONS[choice](call_by("anna", store), made).state)
        except Conflict as refused:
            return refused.code

    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(press, [Choice.APPROVE, Choice.DENY, Choice.APPROVE, Choice.DENY]))
    assert ends.count("approval.closed") == 3
    assert len(audited(database)) == 1


@SUBJECTS
def test_a_writer_cannot_approve_and_a_reader_can_look(
    store: Database, account: Account, door: str, database: Connection, ask: Ask
) -> None:
    made = ask(store, account)
    for role in (Role.WRITER, Role.READER):
        client = client_of(store, door, account.org_id, role)
        refused = client.post(f"/v1/approvals/{made}/approve")
        assert (refused.status, refused.json["code"]) == (403, "forbidden")
        assert client.get("/v1/approvals").status == client.get(f"/v1/approvals/{made}").status == 200
    assert audited(database) == []


@SUBJECTS
def test_another_orgs_question_looks_like_none(
    operator: Client, store: Database, account: Account, stranger: Client, ask: Ask
) -> None:
    made = ask(store, account)
    for verb, path in (("POST", "/approve"), ("POST", "/deny"), ("GET", "")):
        send = stranger.post if verb == "POST" else stranger.get
        foreign, unknown = send(f"/v1/approvals/{made}{path}"), send(f"/v1/approvals/{uuid4()}{path}")
        assert foreign.status == unknown.status == 404
        assert foreign.json["code"] == unknown.json["code"]
    assert stranger.get("/v1/approvals").json["approvals"] == []
    assert operator.get("/v1/approvals").json["approvals"][0]["state"] == "waiting"


@pytest.mark.parametrize(
    ("document", "field"),
    [({"reason": ""}, "reason"), ({"reason": "x" * 1001}, "reason"), ({"who": "me"}, "who"), ([], "document")],
)
def test_what_is_refused_names_its_field(
    operator: Client, store: Database, account: Account, document: object, field: str
) -> None:
    answered = operator.post(f"/v1/approvals/{waiting(store, account)}/approve", document)
    assert (answered.status, answered.json["field"]) == (422, field)


def test_a_channel_is_chosen_and_removed(account: Account, database: Connection) -> None:
    org = ("--org", str(account.org_id))
    assert answer(COMMANDS, "channel", *org, "--channel-id", "123")["channel_id"] == "123"
    assert "channel: " in refusal(COMMANDS, "channel", *org, "--channel-id", "#general")
    assert call(COMMANDS, "channel", *org).exit_code != 0, "what is not named is not taken away"
    assert answer(COMMANDS, "channel", *org, "--channel-id", "")["channel_id"] is None
    assert "no channel" in refusal(COMMANDS, "channel", *org, "--channel-id", "")
    events = [event for event, _ in audited(database)]
    assert events == ["approval.channel_set", "approval.channel_removed"]


def test_no_key_of_an_org_chooses_a_channel(operator: Client, database: Connection) -> None:
    """Whoever chose another org's would keep that org from being asked, and would learn whose it is not."""
    assert isinstance(choose_channel.route, OperatorsOnly)
    assert operator.put("/v1/approvals/channel", {"channel_id": "123"}).status in {404, 405}
    assert database.execute("select count(*) from approval_channels").fetchone() == (0,)


def test_a_channel_of_another_org_is_refused_and_nothing_audited(
    store: Database, account: Account, database: Connection
) -> None:
    other = make_account(store, org="another org", email="you@example.com")
    choose_channel(call_by("anna", store, org_id=other.org_id), channel_id="123")
    with pytest.raises(Conflict, match="another org"):
        choose_channel(call_by("anna", store, org_id=account.org_id), channel_id="123")
    assert len(audited(database)) == 1

"""Presses on the gateway: signed, judged, decided once, and answered to whom they concern."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection, connect
from psycopg.types.json import Jsonb

from domain.approvals.decision import Choice, Refusal
from domain.approvals.question import WORDS
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.safety import CheckedAction
from domain.orgs.access.users import UserRole
from engine.enqueue import enqueue
from engine.runtime import Runtime
from gateway.interactions import LATE
from providers.discord.interactions import EPHEMERAL, LONGEST_BODY
from providers.discord.messages import Press, custom_id_of
from sandbox.discord.presses import PUBLIC_KEY, SignedRequest, badly_signed, ping, press, signed, signed_bytes
from settings import Settings
from storage.approvals import approvals, subjects
from storage.approvals.approvals import QuestionNotice
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account, store_message
from tests.doubles.workflows.asking_nodes import asking_node, node_state
from tests.gateway.serving import HttpAnswer, ask, serve
from tests.waiting import eventually

CHANNEL, ANNA, BOB, STRANGER = "111", "42", "43", "44"
MESSAGE = {"id": "5", "channel_id": CHANNEL, "content": "?"}


@pytest.fixture
def account(store: Database, process: Runtime) -> Account:
    """A mailbox whose org is asked in a channel; Anna approves, Bob is a member."""
    assert process.database is not None
    account = make_account(store)
    store_message(store, account)
    with store.ledger() as tx:
        approvals.choose_channel(tx, account.org_id, CHANNEL)
        users.add(tx, account.org_id, "anna@example.org", UserChanges(UserRole.APPROVER, ANNA))
        users.add(tx, account.org_id, "bob@example.org", UserChanges(UserRole.MEMBER, BOB))
    return account


@pytest.fixture
def url(settings: Settings, account: Account) -> Iterator[str]:
    assert account
    with serve(settings.model_copy(update={"discord_public_key": PUBLIC_KEY})) as served:
        yield f"{served}/webhooks/discord/interactions"


def waiting(store: Database, account: Account, lasts: timedelta = timedelta(days=1)) -> UUID:
    checked = CheckedAction(Delete(), ActionStatus.APPROVED_PENDING, Delete.danger, ("delete is dangerous",))
    with store.ledger() as tx:
        made = actions.request(tx, account.account_id, "m1", checked, requested_by="a test")
        approvals.request(tx, account.account_id, [made], partial(enqueue, org_id=account.org_id), lasts=lasts)
    return made


def post(url: str, made: SignedRequest) -> HttpAnswer:
    return ask(url, made.body, made.headers)


def pressed(action_id: UUID, who: str = ANNA, choice: Choice = Choice.APPROVE, **changes: Any) -> SignedRequest:  # noqa: ANN401 - fields of a press
    document = press(MESSAGE, custom_id_of(Press(choice, action_id, 0)), who)
    return signed(document | changes)


def whispered(answer: HttpAnswer) -> str:
    assert answer.status == 200, answer.body
    assert (answer.json["type"], answer.json["data"]["flags"]) == (4, EPHEMERAL)
    return str(answer.json["data"]["content"])


def state(database: Connection, action_id: UUID) -> str:
    row = database.execute("select state from actions where id = %s", (action_id,)).fetchone()
    assert row is not None
    return str(row[0])


def audited(database: Connection) -> list[tuple[str, str, str | None]]:
    return [
        (event, actor, data.get("why"))
        for event, actor, data in database.execute(
            "select event, actor_id, data from audit_entries where event like 'approval.%%'"
            " and event <> 'approval.channel_set' order by id"
        )
    ]


def count(database: Connection, job_type: str) -> int:
    row = database.execute("select count(*) from jobs where job_type = %s", (job_type,)).fetchone()
    assert row is not None
    return int(row[0])


def test_a_ping_is_answered_and_a_bad_one_is_not(url: str) -> None:
    assert post(url, signed(ping())).json == {"type": 1}
    assert post(url, badly_signed(ping())).status == 401


def test_an_approval_releases_the_action_and_edits_the_message(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    answer = post(url, pressed(made))
    assert answer.json["type"] == 7
    assert answer.json["data"]["components"] == []
    assert "Approved by anna" in answer.json["data"]["content"]
    assert state(database, made) == "approved"
    assert (count(database, "actions.execute"), count(database, "approvals.show_outcome")) == (1, 1)
    assert audited(database) == [("approval.approved", f"discord:{ANNA}", None)]


def test_a_denial_enqueues_nothing_to_execute(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    assert "Denied by anna" in post(url, pressed(made, choice=Choice.DENY)).json["data"]["content"]
    assert (state(database, made), count(database, "actions.execute")) == ("denied", 0)


def test_a_press_decides_about_a_node_of_a_workflow(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = asking_node(store, account.org_id)
    assert whispered(post(url, pressed(made, BOB))) == WORDS[Refusal.NOT_AN_APPROVER]
    answer = post(url, pressed(made, choice=Choice.DENY))
    assert (answer.json["type"], answer.json["data"]["components"]) == (7, [])
    assert node_state(store, made) == ("failed", "approval.denied")
    assert "Denied by anna" in whispered(post(url, pressed(made)))
    assert (count(database, "workflows.advance"), count(database, "approvals.show_outcome")) == (1, 1)
    assert [(event, why) for event, _, why in audited(database)] == [
        ("approval.refused", "not_an_approver"), ("approval.denied", None), ("approval.refused", "decided")
    ]  # fmt: skip


@pytest.mark.parametrize(("roles", "counts"), [(["owner"], False), (["approver"], True), (["member"], False)])
def test_a_node_may_name_whose_decision_counts_and_a_members_never_does(
    url: str, store: Database, account: Account, roles: list[str], counts: bool
) -> None:
    made = asking_node(store, account.org_id, roles=roles)
    assert post(url, pressed(made, BOB)).json["type"] == 4
    assert (post(url, pressed(made)).json["type"] == 7) is counts


def test_a_second_press_is_told_how_it_was_decided(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    post(url, pressed(made, choice=Choice.DENY))
    assert "Denied by anna" in whispered(post(url, pressed(made)))
    assert state(database, made) == "denied"
    assert audited(database)[-1] == ("approval.refused", f"discord:{ANNA}", "decided")


def test_of_presses_at_once_one_counts(url: str, store: Database, account: Account, database: Connection) -> None:
    made = waiting(store, account)
    choices = [Choice.APPROVE, Choice.DENY] * 3
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda choice: post(url, pressed(made, choice=choice)), choices))
    assert sorted(one.json["type"] for one in answers) == [4] * 5 + [7]
    assert count(database, "approvals.show_outcome") == 1
    assert count(database, "actions.execute") == (state(database, made) == "approved")


@pytest.mark.parametrize(
    ("user", "why"), [(BOB, "not_an_approver"), (STRANGER, "not_an_approver"), ("", None), ("x; drop", None)]
)
def test_who_may_not_decide_changes_nothing(
    url: str, store: Database, account: Account, database: Connection, user: str, why: str | None
) -> None:
    made = waiting(store, account)
    said = whispered(post(url, pressed(made, user)))
    assert said in WORDS.values()
    assert state(database, made) == "approved_pending"
    assert audited(database) == ([("approval.refused", f"discord:{user}", why)] if why else [])


def test_another_orgs_approver_and_channel_decide_nothing(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    other = make_account(store, org="another org", email="you@example.com")
    with store.ledger() as tx:
        approvals.choose_channel(tx, other.org_id, "222")
        users.add(tx, other.org_id, "eve@example.org", UserChanges(UserRole.OWNER, STRANGER))
    elsewhere = whispered(post(url, pressed(made, STRANGER, channel_id="222")))
    unknown = whispered(post(url, pressed(uuid4(), STRANGER, channel_id="222")))
    assert elsewhere == unknown
    whispered(post(url, pressed(made, STRANGER)))
    whispered(post(url, pressed(made, ANNA, channel_id="222")))
    assert state(database, made) == "approved_pending"
    assert {why for _, _, why in audited(database)} == {"not_here", "not_an_approver"}


def test_a_question_in_a_channel_that_another_org_took_over_decides_nothing(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made, other = waiting(store, account), make_account(store, org="another org", email="you@example.com")
    with store.ledger() as tx:
        approvals.record_notice(tx, subjects.get(tx, made), QuestionNotice(0, CHANNEL, "1"))
        approvals.choose_channel(tx, account.org_id, "222")
    assert post(url, pressed(made, choice=Choice.DENY)).json["type"] == 7, "where it was asked, while nobody else is"
    made = waiting(store, account)
    with store.ledger() as tx:
        approvals.record_notice(tx, subjects.get(tx, made), QuestionNotice(0, CHANNEL, "2"))
        approvals.choose_channel(tx, other.org_id, CHANNEL)
    assert whispered(post(url, pressed(made))) == WORDS[Refusal.NOT_HERE]
    assert state(database, made) == "approved_pending"


def test_a_press_for_what_was_canceled_says_so_and_does_nothing(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    database.execute(
        "update actions set state = 'canceled', finished_at = now(), error = %s where id = %s",
        (Jsonb({"code": "account.disconnected", "reason": "the account was disconnected"}), made),
    )
    said = whispered(post(url, pressed(made)))
    assert said == f"{WORDS[Refusal.ENDED]} Canceled: the account was disconnected"
    assert (state(database, made), count(database, "actions.execute")) == ("canceled", 0)
    assert audited(database)[-1] == ("approval.refused", f"discord:{ANNA}", "ended")


def test_after_the_end_nothing_is_decided(url: str, store: Database, account: Account, database: Connection) -> None:
    made = waiting(store, account, timedelta(0))
    assert "over" in whispered(post(url, pressed(made)))
    assert state(database, made) == "approved_pending"
    assert count(database, "actions.execute") == 0


def test_in_a_direct_message_the_user_is_the_actor(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    document = press(MESSAGE, custom_id_of(Press(Choice.APPROVE, made, 0)), ANNA, direct=True)
    assert post(url, signed(document)).json["type"] == 7
    assert state(database, made) == "approved"


def test_in_a_server_a_user_beside_the_member_is_nobody(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    whispered(post(url, pressed(made, BOB, user={"id": ANNA})))
    assert state(database, made) == "approved_pending"


def test_what_is_not_signed_now_by_the_application_is_refused(
    url: str, store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    good = pressed(made)
    document = press(MESSAGE, custom_id_of(Press(Choice.APPROVE, made, 0)), ANNA)
    refused = [
        badly_signed(document),
        signed(document, at=time.time() - 400),
        signed(document, at=time.time() + 400),
        signed(document, at=999_999_999_999),
        SignedRequest(good.body + b" ", good.headers),
        SignedRequest(good.body, good.headers | {"X-Signature-Timestamp": str(int(time.time()) - 1)}),
        SignedRequest(good.body, {"Content-Type": "application/json"}),
        *(
            SignedRequest(good.body, good.headers | {name: value})
            for name in ("X-Signature-Ed25519", "X-Signature-Timestamp")
            for value in ("", "zz" * 64, "00" * 64, "0" * 5000, "-1", "1e9")
        ),
    ]
    assert {post(url, one).status for one in refused} == {401}
    assert state(database, made) == "approved_pending"


def test_without_a_public_key_every_press_is_refused(settings: Settings, account: Account) -> None:
    assert account
    with serve(settings) as served:
        assert post(f"{served}/webhooks/discord/interactions", signed(ping())).status == 401


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"{",
        b"\xff",
        b"{}",
        b'{"type": 2}',
        b'{"type": true}',
        b'{"type": "3"}',
        b'{"type": [3]}',
        b'{"type": {}}',
        b"[" * 9000,
    ],
)
def test_what_is_no_interaction_is_refused_by_its_field(url: str, body: bytes) -> None:
    answer = post(url, signed_bytes(body))
    assert (answer.status, answer.json["field"]) in {(422, "document"), (422, "type")}


@pytest.mark.parametrize(
    "document",
    [
        {"type": 3}, {"type": 3, "data": "x", "member": "y"}, {"type": 3, "data": {"custom_id": 7}},
        {"type": 3, "data": {"custom_id": "other:1"}, "user": {"id": ANNA}},
        {"type": 3, "data": {"custom_id": "postroom:approve:x:0"}, "user": {"id": ANNA}},
    ],
)  # fmt: skip
def test_a_press_that_is_not_ours_decides_nothing(url: str, document: dict[str, object]) -> None:
    assert whispered(post(url, signed(document))) == "Nothing can be decided here with this button."


def test_a_body_that_is_too_large_is_not_read(url: str) -> None:
    assert post(url, signed_bytes(b" " * (LONGEST_BODY + 1))).status == 413


def test_every_press_is_answered_in_time_while_the_database_is_held_up(
    settings: Settings, store: Database, account: Account, database: Connection, database_url: str
) -> None:
    """One connection, and a lock that nobody lets go of: the presses wait for both, and Discord for 3 seconds."""
    made = waiting(store, account)
    small = settings.model_copy(update={"discord_public_key": PUBLIC_KEY, "database_pool_size": 1})
    with serve(small) as served, ThreadPoolExecutor(6) as people:
        url = f"{served}/webhooks/discord/interactions"
        with connect(database_url) as holder:
            holder.execute("lock table actions in access exclusive mode")

            began = time.monotonic()
            answers = list(people.map(lambda _: post(url, pressed(made)), range(6)))
            took = time.monotonic() - began
        assert took < 3
        assert {whispered(answer) for answer in answers} == {LATE}
        eventually(
            lambda: "Approved by anna" in str(post(url, pressed(made)).body),
            within=30,
            describe="a press after the trouble counts",
        )
    assert state(database, made) == "approved"

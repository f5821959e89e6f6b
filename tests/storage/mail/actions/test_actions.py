"""An action moves by the domain's table alone, is executed by one job, and does not outlive the end of that job."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection
from psycopg.errors import CheckViolation, ForeignKeyViolation, UniqueViolation
from psycopg.types.json import Jsonb

from domain.jobs.failures import Conflict, Forbidden, Gone, Transient
from domain.mail.actions.kinds import ActionKind, Inverse
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import VERSION
from domain.mail.actions.status import MOVES, ActionStatus, status_after_end
from domain.mail.actions.undo_hint import UndoHint, hint_for
from domain.mail.triage.safety import CheckedAction
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions, undos
from storage.mail.actions.actions import ActionFilter, ActionPlace, StoredAction
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type
from tests.doubles.mail_factories import make_account, store_message
from tests.waiting import eventually

ENDED = frozenset(
    {
        ActionStatus.DONE,
        ActionStatus.FAILED,
        ActionStatus.DENIED,
        ActionStatus.EXPIRED,
        ActionStatus.UNDONE,
        ActionStatus.CANCELED,
    }
)
"""The table keeps when an action came to one of these."""
HINT = hint_for(Archive(), {"INBOX"}, set())


@pytest.fixture
def account(store: Database) -> Account:
    account = make_account(store)
    store_message(store, account)
    return account


def request(store: Database, account: Account, status: ActionStatus = ActionStatus.QUEUED) -> UUID:
    reasons = ("a reason",) if status is ActionStatus.APPROVED_PENDING else ()
    checked = CheckedAction(Archive(), status, Archive.danger, reasons)
    with store.tenant(account.org_id) as tx:
        return actions.request(tx, account.account_id, "m1", checked, requested_by="a test")


def read(store: Database, account: Account, action_id: UUID) -> StoredAction:
    with store.tenant(account.org_id) as tx:
        return actions.get(tx, account.account_id, action_id)


def begin(store: Database, account: Account, action_id: UUID, job_id: UUID) -> bool:
    with store.tenant(account.org_id) as tx:
        return actions.begin(tx, action_id, job_id)


def finish(store: Database, account: Account, action_id: UUID, job_id: UUID) -> None:
    with store.tenant(account.org_id) as tx:
        actions.finish(tx, action_id, job_id, HINT)


def done(store: Database, account: Account) -> UUID:
    action_id, job_id = request(store, account), uuid4()
    begin(store, account, action_id, job_id)
    finish(store, account, action_id, job_id)
    return action_id


def put(database: Connection, action_id: UUID, status: ActionStatus, job_id: UUID | None = None) -> None:
    """Write a whole action of a status, whatever it was before."""
    database.execute("set session_replication_role = replica")
    database.execute(
        "update actions set state = %s, job_id = %s, started_at = now(), reasons = '{a}', undo_hint = %s, error = '{}',"
        " approver = 'x', decided_at = now(), finished_at = case when %s then now() end where id = %s",
        (
            status.value,
            job_id or uuid4(),
            Jsonb(HINT.document()),
            status in ENDED,
            action_id,
        ),
    )
    database.execute("set session_replication_role = default")


def is_refused(database: Connection, action_id: UUID, before: ActionStatus, after: ActionStatus) -> bool:
    try:
        database.execute(
            "update actions set state = %s, finished_at = case when %s then now() end where id = %s",
            (after.value, after in ENDED, action_id),
        )
    except psycopg.ProgrammingError as error:
        return str(error).startswith(f"state: an action cannot go from {before.value} to {after.value}\n")
    return False


def test_the_database_allows_exactly_the_moves_of_the_domains_table(
    store: Database, database: Connection, account: Account
) -> None:
    action_id, allowed = request(store, account), set()
    for before, after in product(ActionStatus, ActionStatus):
        if before is not after:
            put(database, action_id, before)
            if not is_refused(database, action_id, before, after):
                allowed.add((before, after))
    assert allowed == MOVES


ENDS = [
    ("succeeded", None),
    ("failed", "no use"),
    ("dead", "poison"),
    ("canceled", "enough"),
    ("canceled", "expired"),
]


@pytest.mark.parametrize("is_undo", [False, True])
def test_the_hook_does_what_the_domain_says(
    store: Database, database: Connection, account: Account, *, is_undo: bool
) -> None:
    make_job_type(store, "probe.acts", on_end="action_job_ended")
    action_id = request(store, account)
    if is_undo:
        database.execute("update actions set kind = 'undo' where id = %s", (action_id,))
    for before, (state, reason) in product(ActionStatus, ENDS):
        job_id = uuid4()
        put(database, action_id, before, job_id)
        facts: dict[str, Any] = {"job_id": str(job_id), "org_id": str(account.org_id), "job_type": "probe.acts"}
        facts |= {"state": state, "reason": reason, "error_code": None}
        database.execute("select postroom.call_end_hook(%s)", (Jsonb(facts),))
        found = read(store, account, action_id)
        assert found.state is status_after_end(before, state, reason, is_undo=is_undo), (before, state, reason)
        if found.state is not before:
            assert found.error is not None
            assert found.error["reason"] == reason or (reason is None and "without saying" in found.error["reason"])


def test_the_hook_touches_no_other_jobs_action(store: Database, database: Connection, account: Account) -> None:
    make_job_type(store, "probe.acts", on_end="action_job_ended")
    action_id = request(store, account)
    put(database, action_id, ActionStatus.EXECUTING, uuid4())
    facts = {"job_id": str(uuid4()), "org_id": str(account.org_id), "job_type": "probe.acts", "state": "failed"}
    database.execute("select postroom.call_end_hook(%s)", (Jsonb(facts),))
    assert read(store, account, action_id).state is ActionStatus.EXECUTING


def test_one_job_executes_an_action_and_ends_it(store: Database, account: Account) -> None:
    action_id, job_id = request(store, account), uuid4()
    assert begin(store, account, action_id, job_id)
    assert begin(store, account, action_id, job_id), "the same job may come again"
    assert not begin(store, account, action_id, uuid4())
    with pytest.raises(Conflict):
        finish(store, account, action_id, uuid4())
    finish(store, account, action_id, job_id)
    found = read(store, account, action_id)
    assert (found.state, found.job_id, found.version) == (ActionStatus.DONE, job_id, VERSION)
    assert found.undo_hint is not None
    assert UndoHint.model_validate(found.undo_hint) == HINT
    assert not begin(store, account, action_id, job_id)


def test_another_job_goes_on_with_what_is_handed_over(store: Database, account: Account) -> None:
    action_id, first, second = request(store, account), uuid4(), uuid4()
    begin(store, account, action_id, first)
    with store.tenant(account.org_id) as tx:
        actions.hand_over(tx, action_id, first, to_job=second)
        with pytest.raises(Conflict):
            actions.hand_over(tx, action_id, first, to_job=uuid4())
    assert begin(store, account, action_id, second)
    finish(store, account, action_id, second)
    assert read(store, account, action_id).state is ActionStatus.DONE


def test_a_failed_action_may_be_taken_up_again(store: Database, database: Connection, account: Account) -> None:
    action_id, job_id = request(store, account), uuid4()
    put(database, action_id, ActionStatus.FAILED)
    assert begin(store, account, action_id, job_id)
    found = read(store, account, action_id)
    assert (found.state, found.error, found.finished_at) == (ActionStatus.EXECUTING, None, None)


@pytest.mark.parametrize("status", [ActionStatus.APPROVED_PENDING, ActionStatus.DENIED, ActionStatus.EXPIRED])
def test_what_nobody_released_is_not_executed(
    store: Database, database: Connection, account: Account, status: ActionStatus
) -> None:
    action_id = request(store, account)
    put(database, action_id, status)
    assert not begin(store, account, action_id, uuid4())


def test_a_decision_is_made_once_and_in_time(store: Database, database: Connection, account: Account) -> None:
    first, late = (request(store, account, ActionStatus.APPROVED_PENDING) for _ in range(2))
    database.execute("update actions set approval_expires_at = now() - interval '1 second' where id = %s", (late,))
    with pytest.raises(Forbidden), store.tenant(account.org_id) as tx:
        actions.decide(tx, first, ActionStatus.APPROVED, approver="a handler")
    with store.ledger() as tx:
        answers = [
            actions.decide(tx, first, ActionStatus.APPROVED, approver="ada"),
            actions.decide(tx, first, ActionStatus.DENIED, approver="bob"),
            actions.decide(tx, late, ActionStatus.APPROVED, approver="ada"),
        ]
    assert answers == [True, False, False]
    found = read(store, account, first)
    assert (found.state, found.approver, found.decided_at is not None) == (ActionStatus.APPROVED, "ada", True)


def test_jobs_are_assigned_to_what_goes_ahead(store: Database, account: Account) -> None:
    goes, waits, job_id = request(store, account), request(store, account, ActionStatus.APPROVED_PENDING), uuid4()
    with store.tenant(account.org_id) as tx:
        actions.assign_jobs(tx, {goes: job_id, waits: job_id})
    assert [read(store, account, one).job_id for one in (goes, waits)] == [job_id, None]


def test_an_action_is_its_accounts_and_its_orgs_alone(store: Database, account: Account) -> None:
    action_id = request(store, account)
    sibling, stranger = make_account(store, email="two@example.com"), make_account(store, org="b", email="b@b.example")
    with store.tenant(account.org_id) as tx:
        with pytest.raises(Forbidden) as mismatch:
            actions.get(tx, sibling.account_id, action_id)
        with pytest.raises(Gone):
            actions.get(tx, account.account_id, uuid4())
        with pytest.raises(Gone, match="message_id"):
            checked = CheckedAction(Archive(), ActionStatus.QUEUED, Archive.danger)
            actions.request(tx, sibling.account_id, "m1", checked, requested_by="a test")
    assert mismatch.value.code == "action.mismatch"
    with store.tenant(stranger.org_id) as tx:
        assert actions.find(tx, action_id) is None
        assert actions.listed(tx, account.org_id, limit=10) == ()


def test_a_list_is_narrowed_and_goes_on(store: Database, database: Connection, account: Account) -> None:
    made = [request(store, account) for _ in range(3)]
    put(database, made[1], ActionStatus.FAILED)
    with store.tenant(account.org_id) as tx:
        first = actions.listed(tx, account.org_id, limit=2)
        place = ActionPlace(first[-1].created_at, first[-1].action_id)
        rest = actions.listed(tx, account.org_id, after=place, limit=2)
        failed = actions.listed(tx, account.org_id, ActionFilter(states=[ActionStatus.FAILED]), limit=9)
        starred = actions.listed(tx, account.org_id, ActionFilter(kind=ActionKind.STAR), limit=9)
        elsewhere = actions.listed(tx, account.org_id, ActionFilter(account_id=uuid4()), limit=9)
    assert [one.action_id for one in (*first, *rest)] == made[::-1]
    assert [one.action_id for one in failed] == [made[1]]
    assert starred == elsewhere == ()
    assert first[0].inverse is Inverse.APPLY_LABEL


def test_one_undo_wins_and_is_linked_to_its_action(store: Database, account: Account) -> None:
    original, job_id = done(store, account), uuid4()
    with store.tenant(account.org_id) as tx:
        first = undos.begin(tx, account.account_id, original, job_id, requested_by="ada")
        again = undos.begin(tx, account.account_id, original, uuid4(), requested_by="bob")
    assert (first.created, again.created, again.undo_id) == (True, False, first.undo_id)
    undo = read(store, account, first.undo_id)
    assert (undo.kind, undo.state, undo.job_id, undo.undo_of) == (
        ActionKind.UNDO,
        ActionStatus.EXECUTING,
        job_id,
        original,
    )
    assert read(store, account, original).undone_by == first.undo_id
    with store.tenant(account.org_id) as tx:
        undos.finish(tx, original, first.undo_id, job_id)
    states = [read(store, account, one).state for one in (original, first.undo_id)]
    assert states == [ActionStatus.UNDONE, ActionStatus.DONE]


def test_of_two_undos_at_once_one_wins(store: Database, database: Connection, account: Account) -> None:
    """The second waits for the first's commit, and sees it at a second look."""
    original = done(store, account)

    def begin_undo(by: str) -> undos.UndoAction:
        with store.tenant(account.org_id) as tx:
            return undos.begin(tx, account.account_id, original, uuid4(), requested_by=by)

    waits = "select count(*) = 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as aside:
        with store.tenant(account.org_id) as tx:
            first = undos.begin(tx, account.account_id, original, uuid4(), requested_by="ada")
            second = aside.submit(begin_undo, "bob")
            eventually(lambda: database.execute(waits).fetchone() == (True,), describe="the second undo never waited")
        with pytest.raises(Transient):
            second.result(10)
    assert begin_undo("bob") == undos.UndoAction(first.undo_id, created=False)
    assert database.execute("select count(*) from actions where kind = 'undo'").fetchone() == (1,)


def test_a_link_stays_within_the_account(store: Database, database: Connection, account: Account) -> None:
    original = done(store, account)
    other = make_account(store, email="you@example.com")
    store_message(store, other)
    foreign, own = request(store, other), request(store, account)
    link = (
        "insert into action_links (org_id, account_id, cause_id, effect_id, relation)"
        " values (%s, %s, %s, %s, 'undo_of')"
    )
    with pytest.raises(ForeignKeyViolation):
        database.execute(link, (other.org_id, other.account_id, foreign, original))
    database.execute(link, (account.org_id, account.account_id, own, original))
    with pytest.raises(UniqueViolation):
        database.execute(link, (account.org_id, account.account_id, request(store, account), original))
    with pytest.raises(CheckViolation):
        database.execute(link, (account.org_id, account.account_id, own, own))


HALF_ACTIONS = (
    "state = 'executing'",
    "state = 'executing', started_at = now()",
    "state = 'failed', finished_at = now()",
    "state = 'expired', finished_at = now()",
    "state = 'canceled'",
    "finished_at = now()",
    "approver = 'ada'",
    "kind = 'explode'",
    "danger = 'fine'",
    "version = 0",
    """parameters = '{"api_key": "x"}'""",
)


def test_no_action_is_half_of_something(store: Database, database: Connection, account: Account) -> None:
    request(store, account)
    for change in HALF_ACTIONS:
        with pytest.raises(CheckViolation):
            database.execute(f"update actions set {change}")
    begun = request(store, account)
    begin(store, account, begun, uuid4())
    with pytest.raises(CheckViolation):
        database.execute("update actions set state = 'done', finished_at = now() where id = %s", (begun,))


def test_a_handler_can_neither_delete_an_action_nor_change_what_was_asked(store: Database, account: Account) -> None:
    request(store, account)
    for statement in ("delete from actions", "update actions set kind = 'delete'", "delete from action_links"):
        with pytest.raises(Forbidden), store.tenant(account.org_id) as tx:
            tx.raw(statement)


def test_an_undo_cancels_no_other_jobs(store: Database, database: Connection, account: Account) -> None:
    """Neither another org's nor one of another type."""
    make_job_type(store, "actions.undo")
    make_job_type(store, "actions.unsnooze")
    holder = claim_one(store, enqueue_one(store, account.org_id, "actions.undo"))
    stranger = make_account(store, org="b", email="b@b.example")
    foreign = enqueue_one(store, stranger.org_id, "actions.unsnooze")
    other = enqueue_one(store, account.org_id, "actions.undo")
    own = enqueue_one(store, account.org_id, "actions.unsnooze")
    with store.claimed(account.org_id, holder.job_id, holder.token) as tx:
        outcomes = [undos.cancel_wake(tx, holder, job_id) for job_id in (foreign, other, uuid4(), own, own)]
    assert outcomes == ["gone", "gone", "gone", "canceled", "ran"]
    rows = database.execute("select id, state from jobs where id = any (%s)", ([foreign, other, own],)).fetchall()
    assert dict(rows) == {foreign: "queued", other: "queued", own: "canceled"}

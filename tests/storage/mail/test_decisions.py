"""Decisions are kept once per job with their actions, and an action's states are whole."""

from uuid import uuid4

import pytest
from psycopg import Connection
from psycopg.errors import CheckViolation, ForeignKeyViolation, UniqueViolation

from domain.jobs.failures import Forbidden, Gone
from domain.mail.actions.requested_action import ActionKind, RequestedAction
from domain.mail.triage.classification import Classification, Decision, DecisionSource, needs_review
from domain.mail.triage.safety import CheckedAction, Danger, SafetyEnforcer
from storage.accounts.accounts import Account
from storage.mail import decisions
from storage.mail.decisions import ActionMove, Origins
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account, store_message

ACTIONS = (
    RequestedAction(kind=ActionKind.APPLY_LABEL, label_id="Label_1"),
    RequestedAction(kind=ActionKind.DELETE),
)
DECISION = Decision(DecisionSource.LLM, Classification.FYI, 0.8, "nothing to do", labels=("Label_1",), actions=ACTIONS)


@pytest.fixture
def account(store: Database) -> Account:
    account = make_account(store)
    store_message(store, account)
    return account


def checked_actions(decision: Decision) -> tuple[CheckedAction, ...]:
    return SafetyEnforcer().check(decision)


def record(store: Database, account: Account, origins: Origins) -> decisions.Recorded:
    actions = checked_actions(DECISION)
    with store.tenant(account.org_id) as tx:
        return decisions.record(tx, account.account_id, "m1", DECISION, actions=actions, origins=origins)


def actions_of(store: Database, account: Account) -> tuple[decisions.Action, ...]:
    with store.tenant(account.org_id) as tx:
        return decisions.actions_of(tx, account.account_id, "m1")


def test_a_decision_is_kept_with_its_actions(store: Database, account: Account) -> None:
    job_id = uuid4()
    recorded = record(store, account, Origins(job_id, "a-model"))
    with store.tenant(account.org_id) as tx:
        kept = decisions.of_message(tx, account.account_id, "m1")
    assert [(one.decision_id, one.classification, one.model, one.job_id, one.label_ids) for one in kept] == [
        (recorded.decision_id, Classification.FYI, "a-model", job_id, ("Label_1",))
    ]
    found = actions_of(store, account)
    assert [one.action_id for one in found] == list(recorded.action_ids)
    assert [(one.kind, one.danger, one.state, one.parameters) for one in found] == [
        (ActionKind.APPLY_LABEL, Danger.SAFE, "queued", {"label_id": "Label_1"}),
        (ActionKind.DELETE, Danger.DANGEROUS, "approved_pending", {}),
    ]
    assert found[1].reasons == checked_actions(DECISION)[1].reasons != ()


def test_a_job_that_runs_again_has_decided_once(store: Database, account: Account) -> None:
    job_id = uuid4()
    first, again = record(store, account, Origins(job_id)), record(store, account, Origins(job_id))
    other = record(store, account, Origins(uuid4()))
    assert (first.created, again.created, other.created) == (True, False, True)
    assert (again.decision_id, again.action_ids) == (first.decision_id, first.action_ids)
    assert len(actions_of(store, account)) == 4


def test_what_nobody_decided_is_kept_too(store: Database, account: Account) -> None:
    with store.tenant(account.org_id) as tx:
        refused = needs_review("the model's answer was refused")
        decisions.record(tx, account.account_id, "m1", refused, origins=Origins(model="a-model"))
        decisions.record(tx, account.account_id, "m1", DECISION)
        kept = decisions.of_message(tx, account.account_id, "m1")
    assert {(one.classification, one.needs_review) for one in kept} == {
        (Classification.NEEDS_REVIEW, True),
        (Classification.FYI, False),
    }


def test_a_message_that_is_not_stored_cannot_have_a_decision(store: Database, account: Account) -> None:
    with store.tenant(account.org_id) as tx, pytest.raises(Gone):
        decisions.record(tx, account.account_id, "unknown", DECISION)


def test_a_handler_cannot_rewrite_a_decision(store: Database, account: Account) -> None:
    record(store, account, Origins())
    for statement in ("update decisions set confidence = 1", "delete from decisions"):
        with pytest.raises(Forbidden), store.tenant(account.org_id) as tx:
            tx.raw(statement)


def test_an_action_moves_from_the_expected_state(store: Database, account: Account) -> None:
    action = record(store, account, Origins()).action_ids[0]
    hint = {"inverse": "remove_label", "label_id": "Label_1"}
    with store.tenant(account.org_id) as tx:
        moved = [
            decisions.move_action(tx, action, expected="running", move=ActionMove("succeeded", undo_hint=hint)),
            decisions.move_action(tx, action, expected="queued", move=ActionMove("running")),
            decisions.move_action(tx, action, expected="queued", move=ActionMove("running")),
            decisions.move_action(tx, action, expected="running", move=ActionMove("succeeded", undo_hint=hint)),
            decisions.move_action(tx, action, expected="succeeded", move=ActionMove("undone")),
        ]
    assert moved == [False, True, False, True, True]
    assert (actions_of(store, account)[0].state, actions_of(store, account)[0].undo_hint) == ("undone", hint)


HALF_ACTIONS = (
    "state = 'running'",
    "state = 'succeeded', finished_at = now()",
    "state = 'failed', finished_at = now()",
    "state = 'canceled'",
    "finished_at = now()",
    "state = 'approved_pending', reasons = '{}'",
    "undo_of = id",
    "kind = 'explode'",
    "danger = 'fine'",
    """parameters = '{"api_key": "x"}'""",
)


def test_no_action_is_half_of_something(store: Database, database: Connection, account: Account) -> None:
    record(store, account, Origins())
    for change in HALF_ACTIONS:
        with pytest.raises(CheckViolation):
            database.execute(f"update actions set {change} where kind = 'apply_label'")


def test_one_undo_wins_and_only_within_the_account(store: Database, database: Connection, account: Account) -> None:
    first = record(store, account, Origins()).action_ids[0]
    other = make_account(store, email="you@example.com")
    store_message(store, other)
    undo = (
        "insert into actions (org_id, account_id, gmail_message_id, undo_of, kind, danger, state)"
        " values (%s, %s, 'm1', %s, 'remove_label', 'safe', 'queued')"
    )
    with pytest.raises(ForeignKeyViolation):
        database.execute(undo, (other.org_id, other.account_id, first))
    database.execute(undo, (account.org_id, account.account_id, first))
    with pytest.raises(UniqueViolation):
        database.execute(undo, (account.org_id, account.account_id, first))


CONTRADICTIONS = (
    "model = 'x', source = 'deterministic'",
    "rule_ids = '{x}'",
    "confidence = 'NaN'",
    "confidence = -0.1",
    "classification = 'needs_review'",
    "classification = 'boring'",
    "source = 'oracle'",
)


def test_no_decision_contradicts_itself(store: Database, database: Connection, account: Account) -> None:
    record(store, account, Origins())
    for change in CONTRADICTIONS:
        with pytest.raises(CheckViolation):
            database.execute(f"update decisions set {change}")

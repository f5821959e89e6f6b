"""Decisions are kept once per job with their actions, and an action's states are whole."""

from functools import partial
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from psycopg.errors import CheckViolation

from domain.jobs.failures import Forbidden, Gone
from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.actions.label_actions import ApplyLabel
from domain.mail.actions.requested_action import VERSION, Delete
from domain.mail.triage.classification import Classification, Decision, DecisionSource, needs_review
from domain.mail.triage.models_asked import ModelsAsked
from domain.mail.triage.safety import CheckedAction, SafetyEnforcer
from storage.mail import decisions
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.mail.actions.actions import StoredAction
from storage.mail.decisions import Origins, PastDecisions
from storage.postgres.database import Database, Transaction
from tests.doubles.mail_factories import make_account, store_message

ACTIONS = (ApplyLabel(label_id="Label_1"), Delete())
DECISION = Decision(DecisionSource.LLM, Classification.FYI, 0.8, "nothing to do", labels=("Label_1",), actions=ACTIONS)


@pytest.fixture
def account(store: Database) -> Account:
    account = make_account(store)
    store_message(store, account)
    return account


def checked_actions(decision: Decision) -> tuple[CheckedAction, ...]:
    return SafetyEnforcer().check(decision)


def record(store: Database, account: Account, origins: Origins) -> decisions.Recorded:
    checked = checked_actions(DECISION)
    with store.tenant(account.org_id) as tx:
        return decisions.record(tx, account.account_id, "m1", DECISION, actions=checked, origins=origins).answer


def actions_of(store: Database, account: Account) -> tuple[StoredAction, ...]:
    with store.tenant(account.org_id) as tx:
        return actions.of_message(tx, account.account_id, "m1")


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
    assert [(one.kind, one.danger, one.state, one.parameters, one.version, one.job_id) for one in found] == [
        (ActionKind.APPLY_LABEL, Danger.SAFE, "queued", {"label_id": "Label_1"}, VERSION, None),
        (ActionKind.DELETE, Danger.DANGEROUS, "approved_pending", {}, VERSION, None),
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


NOTHING = PastDecisions(None, None, was_undecided=False)
ONE, OTHER = ModelsAsked("one"), ModelsAsked("other", "small")


def test_a_message_stays_undecided_for_the_models_that_gave_no_answer_and_for_no_others(
    store: Database, account: Account
) -> None:
    """However often an operator goes back and forth: the look is not bounded by a number of decisions."""
    asks = partial(decisions.by_others, account_id=account.account_id, message_id="m1", job_id=uuid4())
    with store.tenant(account.org_id) as tx:
        assert asks(tx, models=ONE).answer == NOTHING
        first = _undecided(tx, account, ONE)
        others = [_undecided(tx, account, ModelsAsked(f"model-{number}")) for number in range(60)]
        assert asks(tx, models=ONE).answer == PastDecisions(first, others[-1], was_undecided=True)
        assert asks(tx, models=ModelsAsked("model-59")).answer.final == others[-1]
        assert asks(tx, models=OTHER).answer == PastDecisions(None, others[-1], was_undecided=True)


def test_a_decision_stands_whoever_would_be_asked_now_and_a_jobs_own_does_not_count(
    store: Database, account: Account
) -> None:
    mine = uuid4()
    with store.tenant(account.org_id) as tx:
        made = decisions.record(tx, account.account_id, "m1", DECISION, origins=Origins(job_id=mine)).answer.decision_id
        own = decisions.by_others(tx, account.account_id, "m1", job_id=mine, models=ONE).answer
        assert own == NOTHING
        for models in (ONE, OTHER):
            found = decisions.by_others(tx, account.account_id, "m1", job_id=uuid4(), models=models).answer
            assert found == PastDecisions(made, made, was_undecided=False)
    with store.tenant(account.org_id) as tx:
        latest = _undecided(tx, account, ONE)
    with store.tenant(account.org_id) as tx:
        found = decisions.by_others(tx, account.account_id, "m1", job_id=uuid4(), models=OTHER).answer
    assert found == PastDecisions(made, latest, was_undecided=True)


def _undecided(tx: Transaction, account: Account, models: ModelsAsked) -> UUID:
    refused = needs_review("the model's answer was refused")
    origins = Origins(job_id=uuid4(), undecided_by=models.name)
    return decisions.record(tx, account.account_id, "m1", refused, origins=origins).answer.decision_id


def test_a_message_that_is_not_stored_cannot_have_a_decision(store: Database, account: Account) -> None:
    with pytest.raises(Gone), store.tenant(account.org_id) as tx:
        decisions.record(tx, account.account_id, "unknown", DECISION)


def test_a_handler_cannot_rewrite_a_decision(store: Database, account: Account) -> None:
    record(store, account, Origins())
    for statement in ("update decisions set confidence = 1", "delete from decisions"):
        with pytest.raises(Forbidden), store.tenant(account.org_id) as tx:
            tx.raw(statement)


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

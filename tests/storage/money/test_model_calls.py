"""Every paid call is kept once, also when its answer was refused."""

from dataclasses import replace
from datetime import timedelta

from psycopg import Connection

from storage.money import model_calls
from storage.money.model_calls import ModelCall, Spent
from storage.postgres.database import Database
from tests.doubles.mail_factories import NOON, make_account

CALL = ModelCall("classify", "a-model", "tool_use", 1_200, input_tokens=100, output_tokens=20, request_id="req_1")


def test_a_call_that_is_told_twice_was_paid_once(store: Database) -> None:
    account = make_account(store)
    refused = replace(CALL, request_id="req_2", stop_reason="max_tokens", refusal="cut off", cost_microcents=300)
    without_id = replace(CALL, request_id=None, cost_microcents=1)
    with store.tenant(account.org_id) as tx:
        kept = [
            model_calls.record(tx, account.org_id, account.account_id, one)
            for one in (CALL, CALL, refused, without_id, without_id)
        ]
        spent = model_calls.spent_since(tx, account.org_id, NOON - timedelta(days=365))
    assert kept == [True, False, True, True, True]
    assert spent == Spent(1_502, 4)


def test_spending_is_counted_per_org_and_from_a_time(store: Database, database: Connection) -> None:
    account, other = make_account(store, org="one"), make_account(store, org="two")
    with store.ledger() as tx:
        model_calls.record(tx, account.org_id, account.account_id, CALL)
        model_calls.record(tx, other.org_id, other.account_id, replace(CALL, cost_microcents=7))
    database.execute("update llm_calls set at = %s", (NOON,))
    with store.ledger() as tx:
        assert model_calls.spent_since(tx, other.org_id, NOON) == Spent(7, 1)
        assert model_calls.spent_since(tx, other.org_id, NOON + timedelta(seconds=1)) == Spent(0, 0)

"""Every paid call is kept once, also when its answer was refused."""

from dataclasses import replace
from uuid import uuid4

from psycopg import Connection

from storage.models.money import model_calls
from storage.models.money.model_calls import ModelCall
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type
from tests.doubles.mail_factories import make_account

CALL = ModelCall("classify", "a-model", "tool_use", 1_200, input_tokens=100, output_tokens=20, request_id="req_1")


def test_a_call_that_is_told_twice_was_paid_once(store: Database, database: Connection) -> None:
    make_job_type(store)
    account = make_account(store)
    refused = replace(CALL, request_id="req_2", stop_reason="max_tokens", refusal="cut off", cost_microcents=300)
    without_id = replace(CALL, request_id=None, cost_microcents=1)
    job = claim_one(store, enqueue_one(store, account.org_id))
    with store.ledger() as tx:
        for one in (CALL, CALL, refused, without_id, without_id):
            assert not model_calls.book(tx, job, uuid4(), one, account_id=account.account_id), "nothing is to be kept"
    paid = database.execute("select sum(cost_microcents), count(*) from llm_calls where org_id = %s", (account.org_id,))
    assert paid.fetchone() == (1_502, 4)

"""A mend of a mail's job may give words: a look at it checks them and makes no row, and the mend makes one."""

import json
from collections.abc import Mapping
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.job import State
from domain.jobs.lifecycle import Settlement
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from storage.jobs import ledger
from storage.postgres.database import Database
from tests.commands.calling import answer
from tests.doubles.email_orders import order
from tests.doubles.factories import claim_one
from tests.gateway.api.conftest import client_of

WORDS: Mapping[str, object] = {"order_id": None, "to": ["ada@example.org"], "subject": "Again", "text": "words"}


def dead_mail(process: Runtime, org: UUID) -> UUID:
    """The dead job of a mail."""
    _, job_id = order(process, org)
    job = claim_one(process.database, job_id)
    with process.database.ledger() as tx:
        settlement = Settlement(job_id, job.token, State.DEAD, error={"code": "bug", "reason": "made"})
        assert not ledger.settle(tx, [settlement]).refused
    return job_id


def orders(database: Connection) -> int:
    (found,) = database.execute("select count(*) from email_orders").fetchone() or (-1,)
    return int(found)


def test_a_reader_who_looks_at_a_mend_by_words_makes_nothing(
    process: Runtime, org: UUID, store: Database, door: str, database: Connection
) -> None:
    reader = client_of(store, door, org, Role.READER)
    job_id = dead_mail(process, org)
    query = urlencode({"patch": json.dumps(WORDS)})
    plan = reader.get(f"/v1/jobs/{job_id}/replay-plan?{query}").json
    assert (plan["refused"], plan["made"]) == (None, ["order_id"])
    assert [(one["path"], one["after"]) for one in plan["changes"]] == [("order_id", None)]
    preview = reader.get(f"/v1/bulk-actions/preview?verb=mend&{query}").json
    assert (preview["matched"], preview["refused"]) == (1, [])
    assert orders(database) == 1
    other = reader.get(f"/v1/jobs/{job_id}/replay-plan?{urlencode({'patch': json.dumps({'order_id': str(uuid4())})})}")
    assert other.json["made"] == []


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"to": ["nobody"]}, "payload.to.0"), ({"attachments": [str(uuid4())]}, "payload.attachments.0.artifact_id")],
)
def test_a_look_refuses_the_words_that_the_mend_would_refuse(
    process: Runtime, org: UUID, store: Database, door: str, database: Connection, wrong: dict[str, object], field: str
) -> None:
    operator = client_of(store, door, org, Role.OPERATOR)
    job_id = dead_mail(process, org)
    patch = {**WORDS, **wrong}
    looked = operator.get(f"/v1/jobs/{job_id}/replay-plan?{urlencode({'patch': json.dumps(patch)})}")
    done = operator.post(f"/v1/jobs/{job_id}/mend", {"patch": patch})
    assert [(one.status, one.json["field"]) for one in (looked, done)] == [(422, field)] * 2
    (refused,) = operator.get(f"/v1/bulk-actions/preview?verb=mend&{urlencode({'patch': json.dumps(patch)})}").json[
        "refused"
    ]
    assert field in refused["reason"]
    assert orders(database) == 1


def test_the_mend_makes_the_row(process: Runtime, org: UUID, database: Connection) -> None:
    mended = answer(AREAS.jobs, "mend", dead_mail(process, org), "--patch", json.dumps(WORDS))
    row = database.execute(
        "select words ->> 'subject' from email_orders where id::text = (select payload ->> 'order_id' from jobs"
        " where id = %s)",
        (mended["job_id"],),
    ).fetchone()
    assert row == ("Again",)
    assert orders(database) == 2

"""A request is stored under its key until it expires; the purge then deletes it."""

from uuid import UUID, uuid4

from psycopg import Connection

from storage.orgs.access import api_requests
from storage.orgs.access.api_requests import StoredRequest
from storage.postgres.database import Database

ONE, OTHER = bytes(32), b"1" * 32


def test_the_first_request_has_the_key(store: Database, org: UUID) -> None:
    job_id = uuid4()
    with store.tenant(org) as tx:
        assert api_requests.remember(tx, org, "k", ONE) is None
        api_requests.answer(tx, org, "k", [job_id])
    with store.tenant(org) as tx:
        assert api_requests.remember(tx, org, "k", OTHER) == StoredRequest(ONE, (job_id,), None)


def test_a_request_whose_time_is_over_is_purged(store: Database, org: UUID, database: Connection) -> None:
    with store.tenant(org) as tx:
        for key in ("k", "j"):
            api_requests.remember(tx, org, key, ONE)
            api_requests.answer(tx, org, key, [uuid4()])
    database.execute("update api_requests set expires_at = now() - interval '1 second' where key = 'k'")
    with store.ledger() as tx:
        assert api_requests.RETENTION.forget(tx) == 1
    assert database.execute("select key from api_requests").fetchall() == [("j",)]

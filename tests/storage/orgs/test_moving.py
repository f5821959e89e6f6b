"""That rows of an org move between ledgers is the word of whoever owns the ledger."""

from uuid import UUID

from psycopg import Connection

from storage.postgres.database import Database


def test_a_role_of_the_fleet_cannot_say_that_an_org_moves(store: Database, database: Connection, org: UUID) -> None:
    kept = "select count(*) from contact_points where address = %s"
    add = "insert into users (org_id, email) values (%(org)s, %(email)s)"
    with store.ledger() as tx:
        tx.raw("set local postroom.moves = 'on'")
        tx.raw(add, {"org": org, "email": "ann@example.com"})
    assert database.execute(kept, ("ann@example.com",)).fetchone() == (1,), "as ever"
    with database.transaction():
        database.execute("set local postroom.moves = 'on'")
        database.execute(add, {"org": org, "email": "bob@example.com"})
    assert database.execute(kept, ("bob@example.com",)).fetchone() == (0,), "the owner's rows bring theirs along"

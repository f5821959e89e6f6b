"""Rows of an org move between ledgers by the word of whoever owns the ledger, each in the same time."""

from uuid import UUID

from psycopg import Connection

from storage.postgres.database import Database

MISSING_INDEXES = """
select c.conname from pg_constraint c
where c.contype = 'f' and c.conenforced
  and c.confrelid not in ('orgs'::regclass, 'accounts'::regclass, 'org_moves'::regclass) and not exists (
  select from pg_index i cross join lateral (
    select k.number from unnest(i.indkey::int2[]) with ordinality k (number, nth)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
    where a.attname not in ('org_id', 'account_id') order by k.nth limit 1) as first
  where i.indrelid = c.conrelid and first.number = any (c.conkey))
order by 1
"""
"""What refers to rows that are many, and is found by the org or the mailbox alone."""


def test_a_row_that_leaves_is_looked_for_by_itself(database: Connection) -> None:
    """PostgreSQL asks for each row whether another refers to it: by the mailbox alone it would read all of these."""
    assert database.execute(MISSING_INDEXES).fetchall() == []
    database.execute("drop index draft_tokens_thread")
    assert database.execute(MISSING_INDEXES).fetchall() == [("draft_tokens_org_id_account_id_gmail_thread_id_fkey",)]


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

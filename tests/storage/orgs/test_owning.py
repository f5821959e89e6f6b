"""A session of the owner's has its own bounds: those that a ledger gives to whoever logs in would end a long copy."""

import psycopg
from psycopg.sql import SQL, Identifier
from pydantic import SecretStr

from storage.orgs.owning import LONGEST_S, owners_session

NONE = ("idle_in_transaction_session_timeout", "idle_session_timeout", "transaction_timeout")


def test_a_ledgers_bounds_end_no_long_copy(fresh_database_url: str) -> None:
    with psycopg.connect(fresh_database_url, autocommit=True) as owner:
        for bound in (*NONE, "statement_timeout"):
            named = Identifier(owner.info.dbname), Identifier(bound)
            owner.execute(SQL("alter database {} set {} = '15s'").format(*named))
    with owners_session(SecretStr(fresh_database_url), "database_url") as session, session.transaction() as tx:
        rows = tx.raw("select name, setting from pg_settings where name like '%%timeout'")
    kept = {row.name: int(row.setting) for row in rows if row.name in {*NONE, "statement_timeout"}}
    assert kept == {**dict.fromkeys(NONE, 0), "statement_timeout": LONGEST_S * 1000}

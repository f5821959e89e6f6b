"""Two cells on two ledgers, for tests of orgs that move between them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import Connection, connect, sql
from pydantic import SecretStr

from domain.jobs.job import ActorType, Origin
from operations.orgs.moves import Cells
from settings import Settings
from storage.orgs import moving
from storage.orgs.owning import owners_session
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from tests.storage.postgres.row_makers import fill_every_table

HERE, THERE = "eu1", "eu2"
BY = Origin(ActorType.USER, "operator:ada", request_id="r")
UNLIKE = {"audit_entries": {"id"}, "audit_details": {"event_id"}, "jobs": {"foreign_at"}}
"""What is another value in another ledger; numbers of rows besides."""


@dataclass(frozen=True)
class TwoCells:
    """Both ledgers by their owners' connections, and what a move is given."""

    cells: Cells
    here: "Connection[Any]"
    there: "Connection[Any]"

    def back(self, database: Database) -> Cells:
        """The other way."""
        one = self.cells
        return Cells(database=database, source=one.target, target=one.source, here=THERE, there=HERE)

    def open_in(self, org_id: UUID) -> list[str]:
        """In which cells something of the org may run or be enqueued."""
        query = (
            "select from orgs o where o.id = %s and o.closed_since is null"
            " and not exists (select from closed_gates g where g.cause = 'move' and g.key = o.id::text)"
        )
        found = {HERE: self.here, THERE: self.there}
        return [name for name, ledger in found.items() if ledger.execute(query, (org_id,)).fetchall()]


@contextmanager
def two_cells(database: Database, here_url: str, there_url: str, sealer: Sealer) -> Iterator[TwoCells]:
    """Name both cells, and open the owners' sessions."""
    with ExitStack() as stack:
        given = [SecretStr(here_url), SecretStr(there_url)]
        source, target = (stack.enter_context(owners_session(url, "database_url")) for url in given)
        for session, name in ((source, HERE), (target, THERE)):
            with session.transaction() as tx:
                moving.name_cell(tx, name, sealer)
        here, there = (stack.enter_context(connect(url, autocommit=True)) for url in (here_url, there_url))
        cells = Cells(database=database, source=source, target=target, here=HERE, there=THERE)
        yield TwoCells(cells, here, there)


def rows_of(ledger: "Connection[Any]", org_id: UUID) -> dict[str, list[str]]:
    """The org's rows of every table, without the numbers that a ledger gives."""
    found = {}
    for name, columns, sums in ledger.execute(
        "select name, columns, sums from postroom.moving_statements(%s)", (org_id,)
    ).fetchall():
        numbers = ledger.execute(
            "select attname from pg_attribute where attrelid = %s::regclass and attidentity <> ''", (name,)
        ).fetchall()
        unlike = UNLIKE.get(name, set()) | {number for (number,) in numbers}
        kept = [column for column in columns.split(", ") if column.strip('"') not in unlike]
        rest = sums[sums.index(" from ") :]
        query = f"select row({', '.join(f't.{column}' for column in kept)})::text{rest} order by 1"
        found[name] = [str(row) for (row,) in ledger.execute(query.encode())]
    return found


def rows_of_others(ledger: "Connection[Any]", org_id: UUID) -> list[str]:
    """The rows of another org, to see that nobody has touched them."""
    return [row for rows in rows_of(ledger, org_id).values() for row in rows]


def count_tables(ledger: "Connection[Any]") -> int:
    """How many tables have rows of orgs."""
    query = sql.SQL("select count(*) from erasure_rules where org_rows is not null")
    (found,) = ledger.execute(query).fetchone() or (0,)
    return int(found)


def settings_of(settings: Settings, url: str) -> Settings:
    """The same process on another ledger."""
    return settings.model_copy(update={"database_url": SecretStr(url)})


OF_THE_FLEET = (
    """insert into erasures (org_id, subject, reason, begun_by, finished_at)
       values (%(org)s, 'user', 'x', 'x', now())""",
    """insert into consent_requests (org_id, email, owner, deletes, actor_type, actor_id, link_digest, link_expires_at)
       values (%(org)s, 'me@example.com', 'me@example.com', false, 'system', 'x', sha256('x'), now())""",
    """insert into address_codes (org_id, channel, address_hash, expires_at) values (%(org)s, 'sms', 'x', now())""",
    """insert into org_secrets (org_id, name, sealed, key_id)
       select %(org)s, 'resend', 'x', sealing_key_ids[1] from this_cell""",
    """insert into owed_end_hooks (job_id, org_id, job_type, facts) values (%(job)s, %(org)s, 'probe.run', '{}')""",
    """insert into result_requests (task_id, job_id, is_sent) values ('x', %(job)s, false)""",
    """insert into serial_slots (serial_key, slot, job_id) values ('probe.run:' || %(org)s, 1, %(job)s)""",
    """insert into orgs_over_burst (queue, org_id) values ('default', %(org)s)""",
    """insert into restorations (org_id, restored_at, lost_from, actor_id) values (%(org)s, now(), now(), 'ada')""",
    """insert into gates (scope, key, reason, until, actor)
       select scope, key, 'x', now() + interval '1 hour', 'ada' from (values ('org', %(org)s::text),
         ('org_provider', %(org)s || ':resend'), ('account', %(account)s::text)) as g (scope, key)""",
)
"""A row in each table that no tenant sees."""


def fill(ledger: Connection, org_id: UUID) -> None:
    """A row of the org in every table."""
    ids = fill_every_table(ledger, org_id)
    for statement in OF_THE_FLEET:
        ledger.execute(statement.encode(), {name: str(given) for name, given in ids.items()})

"""How long an org is kept grows as its rows do, and not as their square."""

from uuid import UUID, uuid4

from psycopg import Connection

from operations.orgs import moves
from operations.orgs.moves import MoveStep
from settings import Settings
from storage.orgs import moving
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from tests.doubles.factories import make_job_type
from tests.operations.orgs.moves.two_cells import BY, settings_of, two_cells
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database
from tests.storage.postgres.row_makers import fill_every_table

MANY_MESSAGES = """
insert into messages (org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at, size, labels,
  subject, body, document)
select org_id, account_id, 'n' || n, gmail_thread_id, direction, received_at, size, labels, subject, body, document
from messages, generate_series(1, %s) n where org_id = %s
"""
OF_MESSAGE = "explain select from messages where org_id = %s and account_id = %s and gmail_message_id = 'n1'"


def fill(ledger: Connection) -> tuple[UUID, UUID]:
    """An org with one mailbox of many messages."""
    ids = fill_every_table(ledger, uuid4())
    ledger.execute(MANY_MESSAGES, (moving.MANY_ROWS, ids["org"]))
    return ids["org"], ids["account"]


def test_what_refers_to_many_rows_is_checked_by_their_key(
    settings: Settings, store: Database, database: Connection, database_url: str, servers: SessionServers
) -> None:
    """Without statistics PostgreSQL looks for each reference in the whole mailbox, quadratically."""
    make_job_type(store)
    org_id, account_id = fill(database)
    with (
        temporary_database(servers, template=TEMPLATE, named="there") as there_url,
        two_cells(store, database_url, there_url, Sealer.of(settings)) as cells,
    ):
        there = Database(settings_of(settings, there_url))
        make_job_type(there)
        there.dispose()
        plans: list[str] = []

        def look(step: MoveStep) -> None:
            if step is MoveStep.COPIED:
                plans.extend(str(line) for (line,) in cells.there.execute(OF_MESSAGE, (org_id, account_id)))

        moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=look)
    assert "using messages_pkey" in plans[0]

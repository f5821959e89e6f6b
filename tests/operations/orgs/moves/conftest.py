"""Two cells, and an org with a row in every table of one of them."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from settings import Settings
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from tests.doubles.factories import make_job_type
from tests.operations.orgs.moves.two_cells import TwoCells, fill, settings_of, two_cells
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database
from tests.storage.postgres.row_makers import fill_every_table


@pytest.fixture
def there_url(servers: SessionServers) -> Iterator[str]:
    """The owner's URL of a second ledger."""
    with temporary_database(servers, template=TEMPLATE, named="there") as url:
        yield url


@pytest.fixture
def there(settings: Settings, there_url: str) -> Iterator[Database]:
    """The fleet's access to the second ledger."""
    made = Database(settings_of(settings, there_url))
    yield made
    made.dispose()


@pytest.fixture
def cells(
    store: Database, there: Database, settings: Settings, database_url: str, there_url: str
) -> Iterator[TwoCells]:
    """Both cells, with the same job type."""
    for each in (store, there):
        make_job_type(each)
    with two_cells(store, database_url, there_url, Sealer.of(settings)) as made:
        yield made


@pytest.fixture
def org_id(cells: TwoCells) -> UUID:
    """An org with a row in every table, between other orgs in both cells."""
    for ledger in (cells.here, cells.there):
        fill_every_table(ledger, uuid4())
    made = uuid4()
    fill(cells.here, made)
    fill_every_table(cells.here, uuid4())
    return made

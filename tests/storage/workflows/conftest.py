"""Two orgs with runs of workflows, in the test's own process."""

from uuid import UUID

import pytest
from psycopg import Connection

from engine.runtime import Runtime
from tests.doubles.factories import make_org
from tests.workflows.workflow_runs import Workflows


@pytest.fixture
def flows(process: Runtime, database: Connection, org: UUID) -> Workflows:
    return Workflows(process, database, org)


@pytest.fixture
def others(process: Runtime, database: Connection) -> Workflows:
    """Another org's."""
    return Workflows(process, database, make_org(database))

"""An org whose workflows a test runs in its own process."""

from uuid import UUID

import pytest
from psycopg import Connection

from engine.runtime import Runtime
from tests.workflows.workflow_runs import Workflows


@pytest.fixture
def flows(process: Runtime, database: Connection, org: UUID) -> Workflows:
    return Workflows(process, database, org)

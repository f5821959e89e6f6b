"""Enqueue in your own transaction, by psycopg or Django: the job exists if and only if the transaction commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from postroom_client import statement
from postroom_client.options import Id
from postroom_client.statement import Parameters, SqlOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

MARK = "%({})s"


class Cursor(Protocol):
    """A cursor of psycopg's, psycopg2's or Django's."""

    def execute(self, query: Any, params: Any) -> Any:  # noqa: ANN401 - each driver has types of its own
        """Run a statement."""
        ...

    def fetchone(self) -> Any:  # noqa: ANN401 - the row's kind is the caller's choice
        """The next row."""
        ...


def enqueue(
    cursor: Cursor,
    job_type: str,
    payload: Mapping[str, Any],
    *,
    org_id: Id,
    key: str | None = None,
    **options: Unpack[SqlOptions],
) -> UUID:
    """Enqueue a job in the cursor's transaction; the job's id, or the id of the job that has the key already.

    Raises `Invalid` with the field and the reason. PostgreSQL has given up the transaction by then: roll it back, or to
    the savepoint that you set before.
    """
    query, given = query_of(job_type, payload, org_id=org_id, key=key, **options)
    with statement.Refusals():
        cursor.execute(query, given)
        row = cursor.fetchone()
    return UUID(str(row["job_id"] if isinstance(row, Mapping) else row[0]))


def query_of(
    job_type: str, payload: Mapping[str, Any], *, org_id: Id, key: str | None = None, **options: Unpack[SqlOptions]
) -> tuple[str, Parameters]:
    """The statement and its parameters, to run them yourself: `await connection.execute(*query_of(…))`."""
    given = statement.parameters(job_type, payload, org_id, key, **options)
    return statement.text(given, MARK), given

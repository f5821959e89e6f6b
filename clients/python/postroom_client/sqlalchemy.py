"""Enqueue in SQLAlchemy's transaction: the job exists if and only if the transaction commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import text

from postroom_client import statement
from postroom_client.options import Id
from postroom_client.statement import SqlOptions

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session
    from typing_extensions import Unpack

MARK = ":{}"


def enqueue(
    session: Session | Connection,
    job_type: str,
    payload: Mapping[str, Any],
    *,
    org_id: Id,
    key: str | None = None,
    **options: Unpack[SqlOptions],
) -> UUID:
    """Enqueue a job in the session's transaction, as `postroom_client.sql.enqueue` does.

    With an `AsyncSession`: `await session.run_sync(enqueue, job_type, payload, org_id=…)`.
    """
    given = statement.parameters(job_type, payload, org_id, key, **options)
    with statement.Refusals():
        return UUID(str(session.execute(text(statement.text(given, MARK)), dict(given)).scalar_one()))

"""Calls of operations, as an operator at a terminal makes them."""

from uuid import UUID

from domain.jobs.job import ActorType, Origin
from domain.orgs.access.api_keys import Role
from engine.enqueue import enqueue
from operations.call import Call
from settings import Settings
from storage.postgres.database import Database


def call_by(name: str, database: Database, *, role: Role = Role.OPERATOR, org_id: UUID | None = None) -> Call:
    """A call by somebody, who may do everything; for all orgs, if none is named."""
    origin = Origin(ActorType.USER, name)
    return Call(
        origin=origin, name=name, role=role, database=database, settings=Settings.model_construct(),
        enqueue=enqueue, org_id=org_id,
    )  # fmt: skip

"""What the other names of a payload's fields stand for, for doors that need the payload before they enqueue it."""

from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.job import JsonObject
from domain.payloads.payload import Payload
from domain.payloads.shape import shape_of
from storage.postgres.database import Transaction


def resolve(tx: Transaction, payload_type: type[Payload], document: JsonObject, *, org_id: UUID) -> JsonObject:
    """The document under the fields' own names; raises `Invalid` with the name that was given and the reason."""
    renamed = payload_type.renamed(document)
    if renamed.is_whole:
        return renamed.payload
    shape = shape_of(payload_type.model_json_schema())
    row = tx.run("resolve_payload_names", shape=Jsonb(shape), payload=Jsonb(renamed.payload), org_id=org_id)[0]
    resolved: JsonObject = row.payload
    return resolved

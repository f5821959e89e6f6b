"""Definitions of workflows: saved as versions, each for good; the same document is the same version.

An erasure alone writes a document anew.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.jobs.job import JsonObject
from storage.postgres.database import Transaction


class Saved(NamedTuple):
    """What a save did: made a version, or found that of the same document."""

    name: str
    version: int
    created: bool


@dataclass(frozen=True, slots=True)
class StoredDefinition:
    """A version of a workflow with its document, in which the nodes have the order of the file."""

    org_id: UUID
    name: str
    version: int
    saved_by: str
    saved_at: datetime
    document: JsonObject
    written_by: str
    """The transaction that has written the document last, as `writer` gives it."""


def save(tx: Transaction, org_id: UUID, document: JsonObject, hash_: bytes, *, by: str) -> Saved:
    """Keep a checked document (`domain.workflows.faults`) under its name; `hash_` is the SHA-256 of its meaning."""
    name = document["name"]
    tx.run("lock_definition", org_id=org_id, name=name)
    # As people read it: an erasure looks for their names.
    text = json.dumps(document, ensure_ascii=False)
    made = tx.run("save_definition", org_id=org_id, name=name, document=text, hash=hash_, saved_by=by)
    if made:
        return Saved(name, made[0].version, created=True)
    found = tx.run("find_definition_by_hash", org_id=org_id, name=name, hash=hash_)
    return Saved(name, found[0].version, created=False)


def get(tx: Transaction, org_id: UUID, name: str, version: int | None = None) -> StoredDefinition | None:
    """One version of a workflow; without a version the latest."""
    rows = tx.run("get_definition", org_id=org_id, name=name, version=version)
    return StoredDefinition(**rows[0]._asdict()) if rows else None


def writer(tx: Transaction, org_id: UUID, name: str, version: int) -> str | None:
    """The transaction that has written a version last: another one than before says that its document has changed."""
    rows = tx.run("get_definition_writer", org_id=org_id, name=name, version=version)
    return rows[0].written_by if rows else None


def latest(tx: Transaction, org_id: UUID, names: Collection[str]) -> dict[str, int]:
    """The latest version of each of these workflows; one that the org does not have is left out."""
    rows = tx.run("latest_versions", org_id=org_id, names=sorted(names)) if names else ()
    return {row.name: row.version for row in rows}

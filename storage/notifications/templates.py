"""Templates of notifications, in versions that never change."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from domain.notifications.built_in import BUILT_IN
from domain.notifications.template import Template
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

BUILT_IN_VERSION = 0
"""Of the templates that every org has; an org's own begin with 1."""


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A version of a template."""

    org_id: UUID
    name: str
    version: int
    template: Template
    created_at: datetime | None
    created_by: str

    @property
    def document(self) -> JsonObject:
        """What was saved, without what is left at its default."""
        return self.template.model_dump(mode="json", exclude_defaults=True)


def save(tx: Transaction, org_id: UUID, name: str, template: Template, *, by: str) -> StoredTemplate:
    """Save a template as its newest version; the same texts as the newest version make no other."""
    newest = find(tx, org_id, name)
    if newest is not None and newest.version != BUILT_IN_VERSION and newest.template == template:
        return newest
    document = Jsonb(template.model_dump(mode="json", exclude_defaults=True))
    rows = tx.run(
        "save_template", org_id=org_id, name=name, category=template.category, document=document, created_by=by
    )
    return _template(rows[0])


def find(tx: Transaction, org_id: UUID, name: str, version: int | None = None) -> StoredTemplate | None:
    """A version of the org's template, the newest unless one is named; else the one that every org has."""
    if version != BUILT_IN_VERSION:
        rows = tx.run("find_template", org_id=org_id, name=name, version=version)
        if rows:
            return _template(rows[0])
    built_in = BUILT_IN.get(name) if version in {None, BUILT_IN_VERSION} else None
    return None if built_in is None else StoredTemplate(org_id, name, BUILT_IN_VERSION, built_in, None, "postroom")


def get(tx: Transaction, org_id: UUID, name: str, version: int | None = None) -> StoredTemplate:
    """As `find`; raises `Gone` when there is none."""
    found = find(tx, org_id, name, version)
    if found is None:
        raise Gone(f"the org has no template {name}" + ("" if version is None else f" of version {version}"))
    return found


def listed(tx: Transaction, org_id: UUID, *, after: str | None = None, limit: int) -> Sequence[StoredTemplate]:
    """The newest version of each of the org's templates, by name, after a name."""
    return [_template(row) for row in tx.run("list_templates", org_id=org_id, after=after, limit=limit)]


def _template(row: Row) -> StoredTemplate:
    template = Template.model_validate(row.document)
    return StoredTemplate(row.org_id, row.name, row.version, template, row.created_at, row.created_by)

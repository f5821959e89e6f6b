"""API keys: made, found, listed, revoked. The key itself is nowhere in the database."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.contract import check_text
from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import Origin
from domain.orgs.access.api_keys import NOTE_USE_EVERY, NewKey, Role, check_org, matches, prefix_of
from storage.jobs.audit_log import deeds
from storage.postgres.database import Transaction

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key; times are the database's."""

    key_id: UUID
    org_id: UUID
    name: str
    role: str
    prefix: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the key, its org, and what its role allows."""

    key_id: UUID
    org_id: UUID
    role: Role
    note: bool
    """Whether `note_use` is due."""


@dataclass(frozen=True, slots=True)
class KeyOptions:
    """What an operator says of a new key."""

    name: str
    role: Role
    expires_at: datetime | None = None


def create(tx: Transaction, org_id: UUID, key: NewKey, options: KeyOptions, *, by: Origin) -> ApiKey:
    """Keep a new key; raises `Forbidden` for the system org, `Invalid` for one that is none and a time that is past."""
    check_org(org_id)
    rows = tx.run(
        "insert_api_key",
        org_id=org_id,
        name=check_text("name", options.name, LONGEST_NAME),
        role=options.role.value,
        prefix=key.prefix,
        digest=key.digest,
        created_by=by.actor_id,
        expires_at=options.expires_at,
    )
    if not rows:
        raise Invalid("expires_at", "is past")
    made = ApiKey(**rows[0]._asdict())
    _record(tx, "key.created", made, by)
    return made


def find(tx: Transaction, text: str) -> Caller | None:
    """Who calls with this key; None for a key that is unknown, revoked or past its time."""
    prefix = prefix_of(text)
    if prefix is None:
        return None
    rows = tx.run("find_api_key", prefix=prefix, note_every=NOTE_USE_EVERY)
    if not rows or not matches(text, bytes(rows[0].digest)) or not rows[0].good:
        return None
    return Caller(rows[0].key_id, rows[0].org_id, Role(rows[0].role), rows[0].note)


def note_use(tx: Transaction, key_id: UUID) -> None:
    """Write that a key was used, every few minutes at the most."""
    tx.run("note_api_key_use", key_id=key_id, note_every=NOTE_USE_EVERY)


def get(tx: Transaction, key_id: UUID) -> ApiKey | None:
    """One key."""
    rows = tx.run("get_api_key", key_id=key_id)
    return ApiKey(**rows[0]._asdict()) if rows else None


def revoke(tx: Transaction, key_id: UUID, *, org_id: UUID | None = None, by: Origin) -> ApiKey:
    """Let nobody in with a key any more, of any org or of this one.

    Raises `Gone` without such a key, `Conflict` when it is revoked already.
    """
    of_org = {"key_id": key_id, "org_id": org_id}
    rows = tx.run("revoke_api_key", **of_org, revoked_by=by.actor_id)
    if not rows:
        query = "select from api_keys where id = %(key_id)s and org_id = coalesce(%(org_id)s::uuid, org_id)"
        if tx.raw(query, of_org):
            raise Conflict(f"key {key_id} is revoked already")
        raise Gone(f"there is no key {key_id}")
    revoked = ApiKey(**rows[0]._asdict())
    _record(tx, "key.revoked", revoked, by)
    return revoked


def _record(tx: Transaction, event: str, key: ApiKey, by: Origin) -> None:
    facts = {"key_id": str(key.key_id), "prefix": key.prefix, "name": key.name, "role": key.role}
    deeds.record(tx, event, facts, by=by, org_id=key.org_id)

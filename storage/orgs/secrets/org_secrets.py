"""Secrets of an org, sealed: kept, listed without their values, removed, and opened by a handler of the org."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import SecretStr

from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import SYSTEM_ORG, Origin
from storage.jobs.audit_log import deeds
from storage.orgs.secrets.sealing import SealedToken, Sealer, SecretPlace
from storage.postgres.database import TenantTransaction, Transaction

NAME = re.compile(r"[a-z][a-z0-9_.-]{0,62}")
LONGEST = 16_384
"""In bytes; a private key has some 3,000."""


@dataclass(frozen=True, slots=True)
class OrgSecret:
    """What is known of a secret without opening it."""

    org_id: UUID
    name: str
    key_id: str
    """Which sealing key opens it."""
    created_at: datetime
    updated_at: datetime


def keep(tx: Transaction, sealer: Sealer, place: SecretPlace, value: SecretStr, *, by: Origin) -> OrgSecret:
    """Keep a secret, in place of an earlier one of the same name; raises `Invalid`, which does not repeat the value."""
    _check(place, value)
    sealed = sealer.seal(value, place)
    rows = tx.run("keep_org_secret", org_id=place.org_id, name=place.name, sealed=sealed.data, key_id=sealed.key_id)
    deeds.record(tx, "secret.set", {"name": place.name}, by=by, org_id=place.org_id)
    return OrgSecret(**rows[0]._asdict())


def listed(tx: Transaction, *, org_id: UUID | None, limit: int) -> Sequence[OrgSecret]:
    """The secrets of an org, or of all, without their values."""
    rows = tx.run("list_org_secrets", org_id=org_id, most=limit)
    return [OrgSecret(**row._asdict()) for row in rows]


def is_kept(tx: Transaction, place: SecretPlace) -> bool:
    """Whether the org has a secret of that name; for the ledger role."""
    rows = tx.raw(
        "select from org_secrets where org_id = %(org)s and name = %(name)s", {"org": place.org_id, "name": place.name}
    )
    return bool(rows)


def remove(tx: Transaction, place: SecretPlace, *, by: Origin) -> OrgSecret:
    """Remove a secret; raises `Gone` when there is none."""
    row = tx.one("remove_org_secret", f"the org has no secret {place.name}", org_id=place.org_id, name=place.name)
    deeds.record(tx, "secret.removed", {"name": place.name}, by=by, org_id=place.org_id)
    return OrgSecret(**row._asdict())


def opened(tx: TenantTransaction, sealer: Sealer, place: SecretPlace) -> SecretStr:
    """A secret's value in a transaction of its org; raises `Gone` without one, `SealBroken` when it does not open."""
    found = tx.raw("select postroom.org_secret(%(name)s) as sealed", {"name": place.name})[0].sealed
    if found is None:
        raise Gone(f"the org has no secret {place.name}")
    return sealer.open(SealedToken(bytes(found)), place)


def has(tx: Transaction, name: str) -> bool:
    """Whether the org has a secret of that name, in a transaction of the org."""
    return bool(tx.raw("select postroom.org_secret(%(name)s) is not null as it_is", {"name": name})[0].it_is)


def reseal_some(tx: Transaction, sealer: Sealer, *, batch: int = 500) -> int:
    """Seal secrets with the first key that another key has sealed; returns how many, 0 when none is left."""
    rows = tx.run("lock_old_org_secrets", key_id=sealer.key_id, batch=batch)
    for row in rows:
        sealed = sealer.reseal(SealedToken(bytes(row.sealed)), SecretPlace(row.org_id, row.name))
        tx.run("reseal_org_secret", org_id=row.org_id, name=row.name, sealed=sealed.data, key_id=sealed.key_id)
    return len(rows)


def _check(place: SecretPlace, value: SecretStr) -> None:
    if place.org_id == SYSTEM_ORG:
        raise Invalid("org", "must not be the system org: its secrets are settings")
    if not NAME.fullmatch(place.name):
        raise Invalid("name", "must be of a-z, 0-9, _ . and -, begin with a letter and have at most 63 characters")
    length = len(value.get_secret_value().encode())
    if not 1 <= length <= LONGEST:
        raise Invalid("value", f"must have between 1 and {LONGEST} bytes, and has {length}")

"""Profiles of agents, version by version: the newest one of a name counts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.contract import check_text
from domain.jobs.job import JsonObject, Origin
from domain.models.agents.profile import AgentProfile, parse_profile
from storage.jobs.audit_log import deeds
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

LONGEST_REASON = 300
LOCK = "select pg_advisory_xact_lock(hashtextextended('agent profile: ' || %(of)s, 0))"
"""Two people who add a version at once get two numbers."""


FIRST_ID = UUID(int=0)
LAST_VERSION = 2**31 - 1


class ProfilePosition(NamedTuple):
    """Where a profile is in the list of them; one of a whole org has no account and comes first."""

    org_id: UUID
    account_id: UUID
    name: str


class VersionPosition(NamedTuple):
    """Where a version is in the list of those of one name."""

    account_id: UUID
    version: int


@dataclass(frozen=True)
class StoredProfile:
    """One version of a profile; one without an account is the whole org's."""

    profile_id: UUID
    org_id: UUID
    account_id: UUID | None
    name: str
    version: int
    definition: JsonObject
    enabled: bool
    disabled_reason: str | None
    created_at: datetime
    created_by: str

    @cached_property
    def profile(self) -> AgentProfile:
        """What it says; raises `Invalid` for one that another release wrote."""
        return parse_profile({**self.definition, "name": self.name})


def add(
    tx: Transaction, org_id: UUID, profile: AgentProfile, *, account_id: UUID | None = None, by: Origin
) -> StoredProfile:
    """Save a checked profile as the newest version of its name, of an account or, without one, of the org."""
    tx.raw(LOCK, {"of": f"{org_id} {account_id} {profile.name}"})
    definition = profile.model_dump(mode="json", exclude={"name"})
    row = tx.one(
        "add_agent_profile",
        f"there is no org {org_id}",
        org_id=org_id,
        account_id=account_id,
        name=profile.name,
        definition=Jsonb(definition),
        created_by=by.actor_id,
    )
    made = _stored(row)
    _record(tx, "agent_profile.added", made, by)
    return made


def find(tx: Transaction, org_id: UUID, account_id: UUID | None, name: str) -> StoredProfile | None:
    """The profile of that name that an account uses, enabled or not: its own, or else its org's."""
    rows = tx.run("find_agent_profile", org_id=org_id, account_id=account_id, name=name)
    return _stored(rows[0]) if rows else None


def of_runs(tx: Transaction, org_id: UUID, job_ids: Collection[UUID], name: str) -> StoredProfile | None:
    """The version of a profile that the latest run of these jobs began with; None when none has begun one with it."""
    rows = tx.run("find_run_profile", org_id=org_id, job_ids=list(job_ids), name=name)
    return _stored(rows[0]) if rows else None


def listed(
    tx: Transaction, org_id: UUID | None = None, *, after: ProfilePosition | None = None, limit: int
) -> Sequence[StoredProfile]:
    """The newest version of each profile that this transaction may see, of one org or all, after a position."""
    position = (after or ProfilePosition(FIRST_ID, FIRST_ID, ""))._asdict()
    rows = tx.run("list_agent_profiles", of_org=org_id, limit=limit, **position)
    return [_stored(row) for row in rows]


def versions(
    tx: Transaction, org_id: UUID, name: str, *, after: VersionPosition | None = None, limit: int
) -> Sequence[StoredProfile]:
    """All versions of an org's profiles of a name, the newest first, after a position."""
    position = (after or VersionPosition(FIRST_ID, LAST_VERSION))._asdict()
    return [_stored(row) for row in tx.run("list_profile_versions", org_id=org_id, name=name, limit=limit, **position)]


def switch(  # noqa: PLR0913 - what names a profile, and what becomes of it
    tx: Transaction,
    org_id: UUID,
    name: str,
    *,
    account_id: UUID | None = None,
    enabled: bool,
    reason: str | None = None,
    by: Origin,
) -> StoredProfile:
    """Turn the newest version of a profile on or off; raises `Gone` when there is none of that name."""
    kept = None if enabled or reason is None else check_text("reason", reason, LONGEST_REASON)
    given = {"account_id": account_id, "name": name, "enabled": enabled, "reason": kept}
    switched = _stored(tx.one("switch_agent_profile", f"there is no profile {name}", org_id=org_id, **given))
    _record(tx, "agent_profile.enabled" if enabled else "agent_profile.disabled", switched, by)
    return switched


def _stored(row: Row) -> StoredProfile:
    return StoredProfile(**row._asdict())


def _record(tx: Transaction, event: str, profile: StoredProfile, by: Origin) -> None:
    facts = {"profile_id": str(profile.profile_id), "name": profile.name, "version": profile.version}
    deeds.record(tx, event, facts, by=by, org_id=profile.org_id)

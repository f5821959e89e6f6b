"""The people of an org: who may approve, and who they are on Discord."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.failures import Conflict, Gone
from domain.jobs.job import JsonObject
from domain.orgs.access.users import UserRole, check_snowflake, check_zone
from domain.payloads.mail_address import check_address
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

ALL: Mapping[str, str | UUID | None] = {"user_id": None, "email": None, "discord_user_id": None}
"""What `list_users` takes, so that no filter narrows the list."""
MOST_OF_ROLES = 50
"""People of an org who are told of one thing: more of them would each leave it to the others."""


@dataclass(frozen=True, slots=True)
class User:
    """A person in an org."""

    user_id: UUID
    org_id: UUID
    email: str
    role: UserRole
    discord_user_id: str | None
    zone: str
    created_at: datetime
    erasing_since: datetime | None


@dataclass(frozen=True, slots=True)
class UserChanges:
    """What is to be set; None leaves it as it is, an empty Discord id takes it away."""

    role: UserRole | None = None
    discord_user_id: str | None = None
    zone: str | None = None

    def checked(self) -> dict[str, object]:
        """As columns; raises `Invalid` with the field."""
        if self.discord_user_id:
            check_snowflake("discord_user_id", self.discord_user_id)
        if self.zone is not None:
            check_zone(self.zone)
        role = None if self.role is None else str(self.role)
        return {"role": role, "discord_user_id": self.discord_user_id, "zone": self.zone}

    def given(self) -> JsonObject:
        """What is to be set, as the audit log keeps it: null for a Discord id that is taken away."""
        return {name: value or None for name, value in self.checked().items() if value is not None}


def add(tx: Transaction, org_id: UUID, email: str, changes: UserChanges) -> User:
    """Add a person; raises `Conflict` when the address or the Discord id is somebody's in the org already."""
    rows = tx.run("add_user", org_id=org_id, email=check_address("email", email).lower(), **changes.checked())
    if not rows:
        raise Conflict("email: somebody of the org has the address or the Discord id already", code="user.exists")
    return _user(rows[0])


def change(tx: Transaction, org_id: UUID, email: str, changes: UserChanges) -> User:
    """Set a person's role, Discord id or zone; raises `Gone`, and `Conflict` for another's Discord id or an erasure."""
    found = _found(tx, org_id, email)
    rows = tx.run("change_user", user_id=found.user_id, **changes.checked())
    if not rows:
        raise Conflict("discord_user_id: is another person's of the org", code="user.exists")
    return _user(rows[0])


def remove(tx: Transaction, org_id: UUID, email: str) -> User:
    """Remove a person, whose schedules stop.

    Raises `Gone`, and `Conflict` for the owner of a mailbox and for one who is being erased.
    """
    found = _found(tx, org_id, email)
    # Before the statement that looks for what is theirs: nobody gives them a schedule in between.
    tx.raw("select from users where id = %(user_id)s for update", {"user_id": found.user_id})
    if not tx.run("remove_user", user_id=found.user_id):
        raise Conflict("email: the person owns a mailbox: give them the role member instead", code="user.owns_mailbox")
    return found


def of_roles(tx: Transaction, org_id: UUID, roles: frozenset[UserRole]) -> Sequence[UUID]:
    """The ids of the first `MOST_OF_ROLES` people of the org who are more than members, and have one of the roles."""
    names = sorted(one.value for one in roles)
    rows = tx.run("list_users_of_roles", org_id=org_id, roles=names, limit=MOST_OF_ROLES)
    return [row.user_id for row in rows]


def zone_of(tx: Transaction, org_id: UUID, user_id: UUID) -> str | None:
    """The zone of a person of the org; None when there is no such person."""
    rows = tx.run("find_zone_of_user", org_id=org_id, user_id=user_id)
    return str(rows[0].zone) if rows else None


def by_discord(tx: Transaction, org_id: UUID, discord_user_id: str) -> User | None:
    """The person of the org who has that Discord id."""
    rows = _rows(tx, org_id, discord_user_id=discord_user_id)
    return _user(rows[0]) if rows else None


def by_id(tx: Transaction, org_id: UUID, user_id: UUID) -> User | None:
    """The person of the org who has that id."""
    rows = _rows(tx, org_id, user_id=user_id)
    return _user(rows[0]) if rows else None


def _found(tx: Transaction, org_id: UUID, email: str) -> User:
    address = check_address("email", email).lower()
    rows = _rows(tx, org_id, email=address)
    if not rows:
        raise Gone(f"email: the org has nobody of the address {address}")
    if rows[0].erasing_since is not None:
        raise Conflict("email: the person is being erased", code="user.erasing")
    return _user(rows[0])


def _rows(tx: Transaction, org_id: UUID, **filters: str | UUID) -> Sequence[Row]:
    where = {**ALL, "after_email": None, **filters}
    return tx.run("list_users", org_id=org_id, limit=1, **where)


def _user(row: Row) -> User:
    return User(**(row._asdict() | {"role": UserRole(row.role)}))

"""Operators and their sessions: who signs in to the console, by which one-time link, and until when.

Of links and cookies the database keeps digests, of passwords argon2id's hash. For the ledger role only.
"""

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from domain.jobs.failures import Conflict, Gone
from domain.orgs.access.operators import (
    IDLE,
    LINK_LIVES,
    LIVES,
    NOTE_USE_EVERY,
    PROVEN_FOR,
    OperatorIdentity,
    OperatorRights,
    OperatorRole,
    operator_key,
)
from domain.payloads.mail_address import check_address
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

RETENTION = Retention("operator_sessions", "ends_at", timedelta(0))
SECRET_BYTES = 32
LONGEST_SECRET = 100
"""Of a link or a cookie; ours have 43 characters."""


@dataclass(frozen=True, slots=True)
class Operator:
    """Whoever may sign in, by address or link."""

    operator_id: UUID
    email: str
    role: OperatorRole
    org_ids: frozenset[UUID] | None
    password_hash: str | None = field(repr=False)
    account: bytes | None
    """The operator's account at the provider, once the operator has come in by it."""
    is_active: bool

    @property
    def actor_id(self) -> str:
        """By what the audit log names the operator."""
        return actor_of(self.operator_id)


@dataclass(frozen=True, slots=True)
class Session:
    """A browser in which an operator has signed in."""

    session_id: UUID
    operator_id: UUID
    email: str
    rights: OperatorRights
    note: bool
    """Whether `note_use` is due."""


def actor_of(operator_id: UUID) -> str:
    """By what the audit log names an operator: an id, which nobody knows once the operator is removed."""
    return f"operator:{operator_id}"


def digest(secret: str) -> bytes:
    """What is kept of a link's or a cookie's secret; one of 256 random bits takes no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def find_session(tx: Transaction, secret: str) -> Session | None:
    """The session of a cookie; None for one that is unknown, too old or of an operator who is let in no more."""
    if not 0 < len(secret) <= LONGEST_SECRET:
        return None
    rows = tx.run(
        "find_operator_session",
        digest=digest(secret),
        idle=IDLE,
        proven_for=PROVEN_FOR,
        note_every=NOTE_USE_EVERY,
    )
    if not rows:
        return None
    rights = OperatorRights(OperatorRole(rows[0].role), _scope(rows[0]), rows[0].is_proven)
    return Session(rows[0].session_id, rows[0].operator_id, rows[0].email, rights, rows[0].note)


def good_sessions(tx: Transaction, session_ids: Collection[UUID]) -> frozenset[UUID]:
    """Which of these sessions are good; a look that keeps none of them alive."""
    rows = tx.run("list_good_sessions", session_ids=sorted(session_ids), idle=IDLE)
    return frozenset(row.session_id for row in rows)


def note_use(tx: Transaction, session_id: UUID) -> None:
    """Write that a session was used, each minute at the most."""
    tx.run("note_operator_session", session_id=session_id, note_every=NOTE_USE_EVERY)


def is_there_one(tx: Transaction) -> bool:
    """Whether anybody can sign in, or could with a link."""
    is_there: bool = tx.run("is_there_an_operator")[0].is_there
    return is_there


def by_address(tx: Transaction, email: str) -> Operator | None:
    """The operator of an address, deactivated or not."""
    rows = tx.run("find_operator", email=operator_key(email))
    return _operator(rows[0]) if rows else None


def named(tx: Transaction, email: str) -> Operator:
    """The operator of an address; raises `Gone`."""
    found = by_address(tx, email)
    if found is None:
        raise Gone("there is no operator of that address")
    return found


def by_link(tx: Transaction, secret: str) -> Operator | None:
    """Whose one-time link it is, while it is good; looking at it does not use it up."""
    rows = tx.run("find_operator_by_link", digest=digest(secret)) if 0 < len(secret) <= LONGEST_SECRET else []
    return _operator(rows[0]) if rows else None


def use_link(tx: Transaction, secret: str, password_hash: str) -> UUID | None:
    """Use a link up for a new password, and end all sessions; None when it was used meanwhile, or is too old."""
    rows = tx.run("use_operator_link", digest=digest(secret), password_hash=password_hash)
    return rows[0].operator_id if rows else None


def begin_session(tx: Transaction, operator_id: UUID, password_hash: str) -> str | None:
    """The cookie of a new session; None where the operator, or that password, is let in no more."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    is_let_in = tx.run(
        "begin_operator_session",
        operator_id=operator_id,
        password_hash=password_hash,
        digest=digest(secret),
        lives=LIVES,
    )
    return secret if is_let_in else None


def begin_session_by_account(tx: Transaction, operator_id: UUID, identity: OperatorIdentity) -> str | None:
    """The cookie of a new session; None where the operator is let in no more, or has another address or account."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    is_let_in = tx.run(
        "begin_operator_session_by_account",
        operator_id=operator_id,
        email=operator_key(identity.email),
        account=identity.account,
        authenticated_at=identity.authenticated_at,
        digest=digest(secret),
        lives=LIVES,
    )
    return secret if is_let_in else None


def prove(tx: Transaction, session_id: UUID) -> str | None:
    """The new cookie of a session whose person has given the password once more; None when it has ended."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    return secret if tx.run("prove_operator_session", session_id=session_id, digest=digest(secret)) else None


def prove_by_account(tx: Transaction, session_id: UUID, identity: OperatorIdentity) -> str | None:
    """The same, by the provider's word; None also for another account, and where the provider has not asked lately."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    is_proven = tx.run(
        "prove_operator_session_by_account",
        session_id=session_id,
        account=identity.account,
        authenticated_at=identity.authenticated_at,
        digest=digest(secret),
        proven_for=PROVEN_FOR,
    )
    return secret if is_proven else None


def end_session(tx: Transaction, session_id: UUID) -> UUID | None:
    """End one session, and return whose it was; None when it has ended already."""
    rows = tx.run("end_operator_session", session_id=session_id)
    return rows[0].operator_id if rows else None


def end_sessions(tx: Transaction, operator_id: UUID) -> int:
    """End all sessions of an operator; returns how many."""
    return len(tx.run("end_operator_sessions", operator_id=operator_id))


def add(
    tx: Transaction, email: str, role: OperatorRole, org_ids: Sequence[UUID] | None, *, by: str
) -> tuple[UUID, str]:
    """Add an operator; returns the id, and the secret of the one-time link. Raises `Conflict` for a known address."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    rows = tx.run(
        "add_operator",
        email=operator_key(check_address("email", email)),
        role=role.value,
        org_ids=org_ids and list(org_ids),
        created_by=by,
        link_digest=digest(secret),
        link_lives=LINK_LIVES,
    )
    if not rows:
        raise Conflict(f"{email} is an operator already")
    return rows[0].operator_id, secret


def change(
    tx: Transaction,
    operator_id: UUID,
    role: OperatorRole | None,
    org_ids: Sequence[UUID] | None,
    *,
    all_orgs: bool = False,
) -> tuple[OperatorRole, Sequence[UUID] | None]:
    """Give another role or scope, which ends all sessions; returns both. What is None stays, but for `all_orgs`.

    Raises `Conflict` for one who is deactivated.
    """
    rows = tx.run(
        "change_operator",
        operator_id=operator_id,
        role=role and role.value,
        org_ids=org_ids and list(org_ids),
        all_orgs=all_orgs,
    )
    _active(rows)
    return OperatorRole(rows[0].role), rows[0].org_ids


def reset_link(tx: Transaction, operator_id: UUID) -> str:
    """The secret of a new one-time link; raises `Conflict` for one who is deactivated."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    _active(tx.run("reset_operator_link", operator_id=operator_id, link_digest=digest(secret), link_lives=LINK_LIVES))
    return secret


def deactivate(tx: Transaction, operator_id: UUID) -> None:
    """Let an operator in no more, from the next request on; raises `Conflict` for one who is deactivated already."""
    _active(tx.run("deactivate_operator", operator_id=operator_id))


def remove(tx: Transaction, operator_id: UUID) -> None:
    """Forget an operator."""
    tx.run("remove_operator", operator_id=operator_id)


def _active(rows: Sequence[Row]) -> None:
    if not rows:
        raise Conflict("the operator is deactivated")


def _operator(row: Row) -> Operator:
    return Operator(
        row.operator_id, row.email, OperatorRole(row.role), _scope(row), row.password_hash, row.account, row.is_active
    )


def _scope(row: Row) -> frozenset[UUID] | None:
    return None if row.org_ids is None else frozenset(row.org_ids)

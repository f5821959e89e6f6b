"""An account's tokens, and the lease under which one process refreshes them (docs: google-oauth.md#refreshing).

Refresh about five minutes early: `take_refresh_lease` from the version that was read; the winner refreshes without a
transaction and calls `store_refreshed`, or `release` when it failed; a loser goes on with the old token, or reads
again. On invalid_grant read again: a newer version means that somebody else won, else the account is parked
(`accounts.mark_needs_reconsent`).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pydantic import SecretStr

from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account, Status
from storage.orgs.secrets.sealing import SealedField, SealedToken, Sealer, TokenField
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

REFRESH_LEASE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Tokens:
    """An account's tokens as they stand; printing them shows nothing."""

    account_id: UUID
    status: Status
    access_token: SecretStr | None
    refresh_token: SecretStr | None
    access_expires_at: datetime | None
    scopes: tuple[str, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh brought; Google sends a new refresh token only sometimes."""

    access_token: SecretStr
    access_expires_at: datetime
    refresh_token: SecretStr | None = None


def current(tx: Transaction, sealer: Sealer, account_id: UUID) -> Tokens:
    """The tokens as they stand; raises `Gone` without the account, `SealBroken` or `UnknownSealKey`."""
    return opened(sealer, accounts.get(tx, account_id))


def opened(sealer: Sealer, account: Account) -> Tokens:
    """The tokens of an account as `accounts.get` read it; raises `SealBroken` or `UnknownSealKey`."""
    account_id = account.account_id
    return Tokens(
        account_id=account_id,
        status=account.status,
        access_token=_opened(sealer, account.sealed_access_token, SealedField(account_id, "access_token")),
        refresh_token=_opened(sealer, account.sealed_refresh_token, SealedField(account_id, "refresh_token")),
        access_expires_at=account.access_expires_at,
        scopes=account.scopes,
        version=account.token_version,
    )


def take_refresh_lease(
    tx: Transaction, account_id: UUID, *, owner: UUID, version: int, lease: timedelta = REFRESH_LEASE
) -> bool:
    """Become the one who refreshes; false when another does, or the tokens are newer than `version`."""
    return bool(tx.run("take_refresh_lease", account_id=account_id, owner=owner, version=version, lease=lease))


def store_refreshed(
    tx: Transaction, sealer: Sealer, account_id: UUID, *, version: int, refreshed: Refreshed
) -> int | None:
    """Store refreshed tokens and end the lease; returns the new version, or None when the version had changed."""
    refresh = refreshed.refresh_token
    rows = tx.run(
        "store_refreshed_tokens",
        account_id=account_id,
        version=version,
        access=sealer.seal(refreshed.access_token, SealedField(account_id, "access_token")).data,
        refresh=None if refresh is None else sealer.seal(refresh, SealedField(account_id, "refresh_token")).data,
        access_expires_at=refreshed.access_expires_at,
    )
    return int(rows[0].token_version) if rows else None


def release(tx: Transaction, account_id: UUID, *, owner: UUID) -> None:
    """Give the lease back after a refresh that failed; another's lease is left alone."""
    tx.run("release_refresh_lease", account_id=account_id, owner=owner)


def reseal_some(tx: Transaction, sealer: Sealer, *, limit: int = 500) -> int:
    """Reseal tokens of older keys with the first key; returns the number of accounts, zero when none is left."""
    rows = tx.run("find_old_seals", key_id=sealer.key_id, limit=limit)
    for row in rows:
        tx.run(
            "replace_seals",
            account_id=row.account_id,
            version=row.token_version,
            access=_resealed(sealer, row, "access_token"),
            refresh=_resealed(sealer, row, "refresh_token"),
        )
    return len(rows)


def _opened(sealer: Sealer, data: bytes | None, place: SealedField) -> SecretStr | None:
    return None if data is None else sealer.open(SealedToken(data), place)


def _resealed(sealer: Sealer, row: Row, field: TokenField) -> bytes | None:
    data = row._asdict()[f"sealed_{field}"]
    return None if data is None else sealer.reseal(SealedToken(data), SealedField(row.account_id, field)).data

"""The mailboxes: who owns them, whether they may be used, and their settings.

An account is the mailbox of a Google user in an org. A disconnection closes it; the same user's next connection opens
it again, another user's is another account.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import SecretStr

from domain.jobs.contract import check_text
from domain.jobs.failures import Gone
from domain.jobs.gate_causes import Cause
from domain.jobs.job import JsonObject
from domain.mail.account_settings import offered_actions
from domain.mail.actions.kinds import ActionKind
from domain.mail.correspondence import DEFAULT_PARENT
from domain.mail.onboarding import ONBOARDED_WITHIN
from domain.mail.triage.classification import OFFERED_ACTIONS
from domain.payloads.mail_address import address_key, check_address
from storage.jobs import gates
from storage.orgs import orgs
from storage.orgs.secrets.sealing import SealedField, Sealer
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked, found

LONGEST_LABEL = 225
"""Gmail's own bound (docs: gmail.md#labels)."""

LONGEST_STATUS_REASON = 500
AN_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

Status = Literal["active", "needs_reconsent", "disconnected"]


@dataclass(frozen=True, slots=True)
class AccountSettings:
    """What the owner allows; whatever is missing or odd in the database counts as off."""

    label_parent: str = DEFAULT_PARENT
    snooze_label: str | None = None
    """The full name of the label of snoozed messages; by default `Snoozed` under the parent."""
    send_allowed: bool = False
    agent_enabled: bool = False
    model_actions: tuple[ActionKind, ...] = OFFERED_ACTIONS
    """What the classifying model may ask for."""


@dataclass(frozen=True, slots=True)
class Account:
    """A mailbox. Its tokens are sealed, and only `get` reads them; `tokens.opened` opens them."""

    account_id: UUID
    org_id: UUID
    user_id: UUID
    email: str
    status: Status
    status_reason: str | None
    status_changed_at: datetime
    scopes: tuple[str, ...]
    token_version: int
    history_id: int | None
    full_synced_at: datetime | None
    watch_expires_at: datetime | None
    watch_renewed_at: datetime | None
    own_addresses: tuple[str, ...]
    settings: AccountSettings
    created_at: datetime
    sealed_access_token: bytes | None = field(default=None, repr=False)
    sealed_refresh_token: bytes | None = field(default=None, repr=False)
    access_expires_at: datetime | None = None
    google_subject: str | None = None
    """Which Google user connected the mailbox; only `get` and `by_email` read it."""
    reopened_at: datetime | None = None
    """When the same user connected it again after a disconnection; only `get` reads it."""

    @property
    def is_open(self) -> bool:
        """Whether the mailbox is connected by this account."""
        return self.status != "disconnected"

    @property
    def addresses(self) -> frozenset[str]:
        """Every address that is the account's own, as addresses are compared (`address_key`)."""
        return frozenset(map(address_key, (self.email, *self.own_addresses)))


@dataclass(frozen=True, slots=True)
class Consent:
    """What an owner's consent gave us."""

    access_token: SecretStr
    refresh_token: SecretStr
    access_expires_at: datetime
    scopes: tuple[str, ...] = ()
    subject: str | None = None
    """Google's id of the user, where it is known."""


def ensure_org(tx: Transaction, name: str) -> UUID:
    """The org of that id or name; one is made with the name if there is none. For the ledger role.

    Raises `Invalid` where several have the name, and `Gone` for an id that no org has: it would be no name.
    """
    orgs.lock_name(tx, name)
    try:
        return orgs.find(tx, name)
    except Gone:
        if AN_ID.fullmatch(name):
            raise
    org_id: UUID = tx.run("ensure_org", name=name)[0].id
    return org_id


def open_account(
    tx: Transaction, org_id: UUID, email: str, owner: str, subject: str | None = None
) -> tuple[UUID, bool]:
    """The open account of a mailbox in an org, and whether it was not open and has no tokens yet. For the ledger role.

    The Google user's own account is opened again; without one, and where nobody knows the user, there is a new one.
    """
    row = tx.run(
        "open_account",
        org_id=org_id,
        email=check_address("email", email).lower(),
        owner=check_address("owner", owner).lower(),
        subject=subject,
    )[0]
    return row.id, bool(row.created)


def lock_mailbox(tx: Transaction, email: str) -> None:
    """Let no other transaction connect or disconnect the mailbox, in any org, until this one ends."""
    lock = "select pg_advisory_xact_lock(hashtextextended('postroom mailbox: ' || %(email)s, 0))"
    tx.raw(lock, {"email": address_key(email)})


def connect(tx: Transaction, sealer: Sealer, account_id: UUID, consent: Consent) -> None:
    """Store an owner's consent; the account is active. Its gates are the caller's to open.

    Raises `Gone` when it is closed.
    """
    tx.one(
        "connect_account",
        _missing(account_id),
        account_id=account_id,
        access=sealer.seal(consent.access_token, SealedField(account_id, "access_token")).data,
        refresh=sealer.seal(consent.refresh_token, SealedField(account_id, "refresh_token")).data,
        access_expires_at=consent.access_expires_at,
        scopes=list(consent.scopes),
        subject=consent.subject,
    )


def disconnect(tx: Transaction, account_id: UUID, reason: str) -> bool:
    """Close the account and forget its tokens, its watch, and the voice of an owner whose Google user nobody knows.

    False when it was closed before.

    Jobs that wait for the owner's consent are let go, and find the account closed: nobody else would end them.
    """
    reason = check_text("reason", reason, LONGEST_STATUS_REASON)
    if not tx.run("disconnect_account", account_id=account_id, reason=reason):
        return False
    # A statement of its own, so that a voice is seen which was kept while the account was waited for.
    tx.run("forget_voice", account_id=account_id)
    gates.open_gate(tx, "account", str(account_id), Cause.CONSENT)
    return True


def get(tx: Transaction, account_id: UUID) -> Account:
    """One account; raises `Gone` when there is none that this transaction may see.

    To a job that was last asked for before the account was opened again it is disconnected (docs: accounts.md).
    """
    return ask_for(tx, account_id).answer


def standing(tx: Transaction, account_id: UUID) -> Row:
    """How a mailbox is beside its account: its watch, its mail, what waits; raises `Gone` as `get` does."""
    return tx.one("read_mailbox_standing", f"there is no account {account_id}", account_id=account_id)


def ask_for(tx: Transaction, account_id: UUID) -> Asked[Account]:
    """As `get`, whose answer is wanted later."""
    return tx.ask("get_account", found(_missing(account_id), _account), account_id=account_id)


def lock(tx: Transaction, account_id: UUID) -> Status:
    """Let no other transaction write for the mailbox until this one ends; returns its status, as `get` does.

    It comes before any other lock of the mailbox's rows (docs: mail-handlers.md#locks). Raises as `get`.
    """
    status: Status = tx.one("lock_account", _missing(account_id), account_id=account_id).status
    return status


def by_email(tx: Transaction, email: str) -> tuple[Account, ...]:
    """The accounts of a mailbox in all orgs, closed ones too; for the ledger role: a push names only the address."""
    return tuple(_account(row) for row in tx.run("find_accounts_by_email", email=address_key(email)))


def mark_needs_reconsent(tx: Transaction, account_id: UUID, *, version: int, reason: str) -> bool:
    """Park an account whose consent is gone; true only the first time, so that its owner is notified once.

    Nothing happens when the tokens are newer than `version`: somebody else refreshed them meanwhile.
    """
    return bool(tx.run("park_account", account_id=account_id, version=version, reason=reason[:500]))


def record_watch(tx: Transaction, account_id: UUID, *, expires_at: datetime) -> None:
    """Remember a push watch that was made or renewed just now."""
    tx.one("record_watch", _missing(account_id), account_id=account_id, expires_at=expires_at)


def without_watch(tx: Transaction, now: datetime, *, renewal: timedelta, limit: int = 1000) -> tuple[Account, ...]:
    """Active accounts whose watch was not renewed within that time, or has run out (docs: gmail-push.md#watch).

    One that was just connected is none of them: its onboarding makes the watch.
    """
    asked = {"since": now - renewal, "connected_before": now - ONBOARDED_WITHIN, "limit": limit}
    return tuple(_account(row) for row in tx.run("find_unwatched_accounts", **asked))


def save_settings(tx: Transaction, account_id: UUID, changes: JsonObject) -> None:
    """Change some settings (`label_parent`, `snooze_label`, `send_allowed`, `agent_enabled`, …) and keep the others."""
    tx.one("save_account_settings", _missing(account_id), account_id=account_id, settings=Jsonb(changes))


def save_own_addresses(tx: Transaction, account_id: UUID, addresses: Sequence[str]) -> None:
    """The accepted aliases that the account may send as; they are kept as addresses are compared."""
    keys = sorted(set(map(address_key, addresses)))
    tx.one("save_own_addresses", _missing(account_id), account_id=account_id, addresses=keys)


def _account(row: Row) -> Account:
    given = row.settings
    fields: dict[str, Any] = row._asdict() | {
        "scopes": tuple(row.scopes),
        "own_addresses": tuple(row.own_addresses),
        "history_id": None if row.history_id is None else int(row.history_id),
        "settings": AccountSettings(
            label_parent=given.get("label_parent", DEFAULT_PARENT),
            snooze_label=_label_name(given.get("snooze_label")),
            send_allowed=given.get("send_allowed") is True,
            agent_enabled=given.get("agent_enabled") is True,
            model_actions=offered_actions(given.get("model_actions")),
        ),
    }
    return Account(**fields)


def _label_name(given: object) -> str | None:
    """A label's name from the settings; None for what can be none."""
    return given if isinstance(given, str) and 0 < len(given.strip()) <= LONGEST_LABEL else None


def _missing(account_id: UUID) -> str:
    return f"there is no account {account_id}"

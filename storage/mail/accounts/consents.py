"""Requests for consent by browser: a link that works once, a state that is answered once, and what came of it.

Link, state and cookie are random and are nowhere in the database: it keeps their digests. For the ledger role only.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import SecretStr

from domain.jobs.job import ActorType, Origin
from domain.mail.consent import (
    ANSWER_WITHIN,
    EXCHANGE_WITHIN,
    LINK_LIVES,
    ConsentRefusal,
    RefusedConsent,
    check_set_up,
    link_address,
    mail_scopes,
)
from domain.payloads.mail_address import check_address
from settings import Settings
from storage.jobs.audit_log import deeds
from storage.orgs.secrets.sealing import SealedToken, Sealer, SecretPlace
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

LONGEST_TOKEN = 100
"""Of a link or a state; ours have 43 characters."""
LONGEST_DETAIL = 700

State = Literal["asked", "sent", "exchanging", "connected", "refused"]


@dataclass(frozen=True, slots=True)
class ConsentWish:
    """Which mailbox is to be connected, who owns it, and whether mail may be deleted for good."""

    email: str
    owner: str
    deletes: bool = False

    @classmethod
    def of(cls, email: str, owner: str | None = None, *, deletes: bool = False) -> "ConsentWish":
        """What somebody asks for; by default a mailbox is its owner's own. Raises `Invalid` by the field."""
        return cls(check_address("email", email).lower(), check_address("owner", owner or email).lower(), deletes)


@dataclass(frozen=True, slots=True)
class Link:
    """A link that was made; its secret is shown once."""

    request_id: UUID
    secret: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ConsentLink:
    """What the owner opens."""

    wish: ConsentWish
    address: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """A request as it stands."""

    request_id: UUID
    org_id: UUID
    org: str
    email: str
    owner: str
    deletes: bool
    asked_by: Origin
    state: State
    refused: RefusedConsent | None
    """Why it can come to no good any more, also when it is too late."""
    browser_digest: bytes | None = field(repr=False)
    sealed_verifier: bytes | None = field(repr=False)

    @property
    def scopes(self) -> tuple[str, ...]:
        """What of the mailbox is asked for."""
        return mail_scopes(deletes=self.deletes)

    @property
    def place(self) -> SecretPlace:
        """Where its code verifier belongs."""
        return SecretPlace(self.org_id, f"code_verifier:{self.request_id}")

    def is_from(self, browser: str | None) -> bool:
        """Whether this cookie is the one of the browser that was sent to Google."""
        if browser is None or self.browser_digest is None:
            return False
        return hmac.compare_digest(digest(browser), self.browser_digest)

    def verifier(self, sealer: Sealer) -> str:
        """The code verifier of a request whose browser is at Google; raises `SealBroken`."""
        return sealer.open(SealedToken(self.sealed_verifier or b""), self.place).get_secret_value()


@dataclass(frozen=True, slots=True)
class ConsentSecrets:
    """What the browser takes along: the state, its cookie, and the verifier's challenge."""

    state: str = field(repr=False)
    browser: str = field(repr=False)
    verifier: str = field(repr=False)


def invite(tx: Transaction, settings: Settings, org_id: UUID, wish: ConsentWish, *, by: Origin) -> ConsentLink:
    """Make the link that an owner is sent, whoever asks.

    Raises `Conflict` where the deployment has no public address or no OAuth client.
    """
    check_set_up(settings.public_url, settings.google_client_id, settings.google_client_secret.get_secret_value())
    link = make_link(tx, org_id, wish, by=by)
    return ConsentLink(wish, link_address(settings.public_url, link.secret), link.expires_at)


def make_link(tx: Transaction, org_id: UUID, wish: ConsentWish, *, by: Origin) -> Link:
    """Make a link for one mailbox of an org; an earlier one stays good."""
    secret = secrets.token_urlsafe(32)
    row = tx.run(
        "ask_consent",
        org_id=org_id,
        email=wish.email.lower(),
        owner=wish.owner.lower(),
        deletes=wish.deletes,
        actor_type=by.actor_type.value,
        actor_id=by.actor_id,
        link_digest=digest(secret),
        lives=LINK_LIVES,
    )[0]
    deeds.record(tx, "account.consent_asked", {"request_id": str(row.request_id)}, by=by, org_id=org_id)
    return Link(row.request_id, secret, row.link_expires_at)


def by_link(tx: Transaction, secret: str) -> ConsentRequest | None:
    """The request of a link, however it stands."""
    return _find(tx, secret, "link_digest")


def by_state(tx: Transaction, state: str) -> ConsentRequest | None:
    """The request of a state, however it stands."""
    return _find(tx, state, "state_digest")


def send(tx: Transaction, sealer: Sealer, request: ConsentRequest) -> ConsentSecrets | None:
    """Use a link up; None when somebody was quicker, or it is too late."""
    sent = ConsentSecrets(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48))
    rows = tx.run(
        "send_consent",
        request_id=request.request_id,
        state_digest=digest(sent.state),
        browser_digest=digest(sent.browser),
        sealed_verifier=sealer.seal(SecretStr(sent.verifier), request.place).data,
        answer_within=ANSWER_WITHIN,
    )
    return sent if rows else None


def take(tx: Transaction, request: ConsentRequest) -> bool:
    """Whether this caller may exchange the code; commit it before the call, for no code is exchanged twice."""
    return bool(tx.run("take_consent", request_id=request.request_id))


def hold(tx: Transaction, request: ConsentRequest) -> bool:
    """Whether what came of the exchange may still be written; no other request ends this one before `tx` does."""
    return bool(tx.run("hold_consent", request_id=request.request_id, exchange_within=EXCHANGE_WITHIN))


def end(tx: Transaction, request: ConsentRequest, outcome: UUID | RefusedConsent) -> bool:
    """Write what came of it: the account's id, or why not; false when that stands already."""
    refused = outcome if isinstance(outcome, RefusedConsent) else None
    rows = tx.run(
        "end_consent",
        request_id=request.request_id,
        account_id=None if refused else outcome,
        refusal=refused and str(refused.why),
        detail=refused and refused.detail[:LONGEST_DETAIL],
    )
    if rows and refused:
        _record_refusal(tx, request.request_id, refused.why, by=request.asked_by, org_id=request.org_id)
    return bool(rows)


def end_overdue(tx: Transaction, *, batch: int) -> int:
    """End requests that can come to no good any more, with the audit entry that nobody else would write."""
    rows = tx.run(
        "end_overdue_consents",
        too_late=str(ConsentRefusal.TOO_LATE),
        broken_off=str(ConsentRefusal.BROKEN_OFF),
        exchange_within=EXCHANGE_WITHIN,
        batch=batch,
    )
    for row in rows:
        by = Origin(ActorType(row.actor_type), row.actor_id)
        _record_refusal(tx, row.request_id, ConsentRefusal(row.refusal), by=by, org_id=row.org_id)
    return len(rows)


def digest(secret: str) -> bytes:
    """What the database keeps of a link, a state or a cookie."""
    return hashlib.sha256(secret.encode()).digest()


def _record_refusal(tx: Transaction, request_id: UUID, why: ConsentRefusal, *, by: Origin, org_id: UUID) -> None:
    """Neither the detail, which may name an address, nor anything of the link goes into the log."""
    facts = {"request_id": str(request_id), "why": str(why)}
    deeds.record(tx, "account.consent_refused", facts, by=by, org_id=org_id)


def _find(tx: Transaction, secret: str, column: str) -> ConsentRequest | None:
    if not 0 < len(secret) <= LONGEST_TOKEN:
        return None
    given = {"link_digest": None, "state_digest": None} | {column: digest(secret)}
    rows = tx.run("find_consent", exchange_within=EXCHANGE_WITHIN, **given)
    return _request(rows[0]) if rows else None


def _request(row: Row) -> ConsentRequest:
    return ConsentRequest(
        request_id=row.request_id,
        org_id=row.org_id,
        org=row.org,
        email=row.email,
        owner=row.owner,
        deletes=row.deletes,
        asked_by=Origin(ActorType(row.actor_type), row.actor_id),
        state=row.state,
        refused=_refused(row),
        browser_digest=None if row.browser_digest is None else bytes(row.browser_digest),
        sealed_verifier=None if row.sealed_verifier is None else bytes(row.sealed_verifier),
    )


def _refused(row: Row) -> RefusedConsent | None:
    if row.refusal is not None:
        return RefusedConsent(ConsentRefusal(row.refusal), row.detail or "")
    if row.link_is_old or row.answer_is_late:
        return RefusedConsent(ConsentRefusal.TOO_LATE)
    return RefusedConsent(ConsentRefusal.BROKEN_OFF) if row.is_broken_off else None

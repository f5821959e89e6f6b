"""Mailboxes for the gateway's tests, and what the ledger shows of the pushes about them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from pydantic import SecretStr

from storage.mail.accounts.accounts import Account, Consent
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from tests.doubles.mail_factories import connect_account

AUDIENCE = "https://postroom.example.com/webhooks/gmail"
PUSHER = "push@project.example.com"
EMAIL = "reader@example.com"
CURSOR = 1000


def connect(store: Database, org: str = "one", email: str = EMAIL, cursor: int | None = CURSOR) -> Account:
    """An active account whose history was read as far as the cursor."""
    consent = Consent(SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1))
    with store.ledger() as tx:
        account = connect_account(tx, Sealer(["a key"]), org, email, consent)
        if cursor is not None:
            tx.raw(
                "update accounts set history_id = %(cursor)s where id = %(id)s",
                {"cursor": cursor, "id": account.account_id},
            )
        return account


def syncs(store: Database) -> list[tuple[UUID, str, dict[str, str]]]:
    """Every sync job: its org, state and payload."""
    with store.ledger() as tx:
        rows = tx.raw("select org_id, state, payload from jobs where job_type = 'gmail.sync' order by created_at, id")
    return [(row.org_id, row.state, row.payload) for row in rows]


def refused(store: Database) -> dict[str, int]:
    """How many pushes were thrown away, by reason."""
    with store.ledger() as tx:
        return {row.reason: int(row.times) for row in tx.raw("select reason, count as times from refused_pushes")}

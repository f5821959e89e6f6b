"""What tests of mail by a vendor need: an org with a sender and credentials, and orders with their jobs."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import SecretStr

from domain.jobs.job import Origin
from domain.notifications.sender import EmailProvider, checked_sender
from domain.payloads.email import EmailOrder, SendPayload
from engine.enqueue import enqueue
from engine.runtime import Runtime
from storage.notifications.email import orders, senders
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SecretPlace

MAILBOX = "desk@example.com"
SECRETS: Mapping[EmailProvider, str] = {
    EmailProvider.RESEND: "re_Abcdefgh_of_an_org",
    EmailProvider.GRAPH: json.dumps(
        {"tenant_id": "tenant.example.com", "client_id": "an-application", "client_secret": "a secret of the org"}
    ),
}


def set_sender(process: Runtime, org_id: UUID, provider: EmailProvider, secret: str | None = None) -> None:
    """Let an org's mail leave by a provider, with credentials that are good there, or with these."""
    identity = checked_sender(
        provider, "The Example Desk <desk@example.com>", MAILBOX if provider is EmailProvider.GRAPH else None
    )
    place, value = SecretPlace(org_id, provider.value), SecretStr(secret or SECRETS[provider])
    with process.database.ledger() as tx:
        org_secrets.keep(tx, process.sealer, place, value, by=Origin())
        senders.choose(tx, org_id, identity, secret=place.name, by="ada")


def order(process: Runtime, org_id: UUID, **words: Any) -> tuple[UUID, UUID]:  # noqa: ANN401 - fields of an order
    """Order a mail; returns the order's id and its job's."""
    asked = {"to": ["Ada Lovelace <ada@example.org>"], "subject": "Your order", "text": "It is on its way."} | words
    with process.database.ledger() as tx:
        order_id = orders.keep(tx, org_id, EmailOrder.model_validate(asked))
        return order_id, enqueue(tx, SendPayload(order_id=order_id), org_id=org_id)[0].job_id

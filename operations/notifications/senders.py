"""Senders: by whom an org's mail leaves, and what keeps it back."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Invalid
from domain.notifications.sender import NO_PROVIDER, EmailProvider, checked_sender
from operations.call import Call
from operations.operation import Area, Record, Route
from storage.notifications.email import senders
from storage.notifications.email.senders import EmailSender
from storage.orgs.secrets import org_credentials, org_secrets
from storage.orgs.secrets.sealing import SecretPlace

SENDERS = Area("senders", "Say by whom an org's mail leaves, and see what keeps it back.", org="required")


class SenderView(Record):
    """By whom an org's mail leaves."""

    org_id: UUID
    provider: EmailProvider
    from_address: str
    mailbox: str | None = Field(description="The mailbox from which Graph sends.")
    secret_name: str = Field(
        validation_alias="secret",
        description="Which secret of the org holds the credentials; no operation shows a secret.",
    )
    set_at: datetime
    set_by: str


class SenderCheck(Record):
    """Whether an org's mail can leave."""

    columns: ClassVar = ("org_id", "provider", "problem", "refused_at", "waiting", "waiting_since")
    org_id: UUID
    provider: EmailProvider | None
    problem: str | None = Field(description="What keeps mail back, in words; null where nothing is known to.")
    refused_at: datetime | None = Field(description="Since when the provider refuses the credentials.")
    refused_code: str | None
    waiting: int = Field(description=f"Mails that are not sent yet, counted up to {senders.MOST_COUNTED}.")
    waiting_since: datetime | None


@SENDERS.look("show", Route("GET", "/senders"))
def show_sender(call: Call) -> SenderView:
    """Show by whom an org's mail leaves."""
    with call.reading() as tx:
        return _view(senders.get(tx, call.org))


@SENDERS.deed("set", Route("PUT", "/senders"), events=("sender.set",))
def set_sender(
    call: Call,
    *,
    provider: Annotated[EmailProvider, Field(description="Who sends.")],
    from_address: Annotated[
        str,
        Field(max_length=1000, description="The From of the mail: `ada@example.org`, or `Ada <ada@example.org>`."),
    ],
    secret_name: Annotated[
        str,
        Field(max_length=63, description="Which secret of the org holds the credentials."),
    ],
    mailbox: Annotated[
        str | None, Field(max_length=320, description="The mailbox from which Graph sends; none for others.")
    ] = None,
) -> SenderView:
    """Let an org's mail leave so from now on. Mail that waited for a sender or for other credentials goes on."""
    identity = checked_sender(provider, from_address, mailbox)
    with call.writing() as tx:
        if not org_secrets.is_kept(tx, SecretPlace(call.org, secret_name)):
            raise Invalid(
                "secret_name", f"the org has no secret {secret_name}: keep it first, by `celery -A tasks secrets set`"
            )
        chosen = senders.choose(tx, call.org, identity, secret=secret_name, by=call.name)
        facts = {"provider": provider.value, "domain": identity.from_domain, "secret_name": secret_name}
        call.audit(tx, call.org, facts)
    return _view(chosen)


@SENDERS.look("check", Route("GET", "/senders/check"))
def check_sender(call: Call) -> SenderCheck:
    """Say what keeps an org's mail back: no sender, a secret that is gone, or credentials that the provider refuses.

    Nobody is called: whether new credentials are good, the next mail tells.
    """
    with call.reading() as tx:
        sender = senders.find(tx, call.org)
        provider = sender.identity.provider if sender else None
        known = org_credentials.find(tx, call.org, provider.value if provider else NO_PROVIDER)
        waiting = senders.waiting(tx, call.org)
        has_secret = sender is None or org_secrets.has(tx, sender.secret)
    problem = None
    if sender is None:
        problem = "the org has no sender: set one"
    elif not has_secret:
        problem = f"the secret {sender.secret} was removed: keep it again, then set the sender again"
    elif known.lost_at is not None:
        problem = (
            "the provider refuses the credentials: keep new ones under the secret's name, then set the sender again"
        )
    return SenderCheck(
        org_id=call.org,
        provider=provider,
        problem=problem,
        refused_at=known.lost_at,
        refused_code=known.lost_code,
        waiting=waiting.mails,
        waiting_since=waiting.since,
    )


def _view(found: EmailSender) -> SenderView:
    return SenderView.model_validate(asdict(found) | asdict(found.identity))

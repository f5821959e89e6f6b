"""Opens the client of the provider by which an org's mail leaves, with the org's own credentials."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import SecretStr

from domain.email.sender import EmailProvider
from domain.jobs.failures import CredentialsLost, Invalid
from engine.context import JobContext
from observability.on_demand import on_demand
from providers.ports.email import DraftingSender, KeyedSender
from storage.notifications.email.senders import EmailSender
from tasks.senders.lost_credentials import credentials_in_use, open_secret

ANSWER_WITHIN_S = 30.0
"""How long one call may take in all; a part of an upload is some megabytes."""


@contextmanager
def open_keyed(ctx: JobContext, sender: EmailSender) -> Iterator[KeyedSender]:
    """Resend's client. What it refuses of the credentials is reported (`credentials_in_use`)."""
    provider = EmailProvider.RESEND.value
    with (
        credentials_in_use(ctx, provider, sender.set_at),
        on_demand("providers.resend.sender:ResendSender")(
            _secret(ctx, sender),
            account=str(ctx.org_id),
            api_url=ctx.settings.resend_api_url,
            timeout_s=ANSWER_WITHIN_S,
            meter=ctx.meter(provider, str(ctx.org_id)),
            clock=ctx.clock,
        ) as client,
    ):
        yield client


@contextmanager
def open_drafting(ctx: JobContext, sender: EmailSender) -> Iterator[DraftingSender]:
    """Graph's client for the org's mailbox, as `open_keyed`."""
    provider = EmailProvider.GRAPH.value
    with (
        credentials_in_use(ctx, provider, sender.set_at),
        on_demand("providers.microsoft.sender:GraphSender")(
            _credential(sender, _secret(ctx, sender)),
            mailbox=sender.identity.mailbox,
            graph_url=ctx.settings.graph_api_url,
            login_url=ctx.settings.microsoft_login_url,
            timeout_s=ANSWER_WITHIN_S,
            meter=ctx.meter(provider, str(ctx.org_id)),
            clock=ctx.clock,
        ) as client,
    ):
        yield client


def _credential(sender: EmailSender, secret: SecretStr) -> Any:  # noqa: ANN401 - loaded on demand
    try:
        return on_demand("providers.microsoft.tokens:MicrosoftCredential").from_json(secret.get_secret_value())
    except Invalid as unreadable:
        raise CredentialsLost(
            f"the secret {sender.secret}: {unreadable.reason}",
            provider=sender.identity.provider.value,
            code="credentials.unreadable",
        ) from None


def _secret(ctx: JobContext, sender: EmailSender) -> SecretStr:
    with ctx.read() as tx:
        return open_secret(ctx, tx, sender.secret, provider=sender.identity.provider.value)

"""Opens the client of the vendor by which an org sends, with the org's own credentials."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from domain.jobs.failures import CredentialsLost, Gone, Invalid
from engine.context import JobContext
from storage.notifications.channel_senders import ChannelSender
from storage.notifications.email.senders import EmailSender
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SecretPlace
from tasks.notifications.senders.lost_credentials import credentials_in_use

Client = TypeVar("Client")


@contextmanager
def open_client(
    ctx: JobContext,
    sender: ChannelSender | EmailSender,
    client: Callable[..., AbstractContextManager[Client]],
    **given: object,
) -> Iterator[Client]:
    """The vendor's client for one job; `given` is what it takes besides the secret, the meter and the clock.

    What the vendor refuses of the credentials is reported (`credentials_in_use`), and so is a secret that somebody has
    removed, or that the client cannot read.
    """
    provider = sender.provider
    with credentials_in_use(ctx, provider, sender.set_at):
        try:
            with ctx.read() as tx:
                secret = org_secrets.opened(tx, ctx.sealer, SecretPlace(ctx.org_id, sender.secret))
            opening = client(secret, meter=ctx.meter(provider, str(ctx.org_id)), clock=ctx.clock, **given)
        except Gone as gone:
            raise CredentialsLost(gone.reason, provider=provider, code="credentials.no_secret") from None
        except Invalid as unreadable:
            reason = f"the secret {sender.secret}: {unreadable.reason}"
            raise CredentialsLost(reason, provider=provider, code="credentials.unreadable") from None
        with opening as opened:
            yield opened

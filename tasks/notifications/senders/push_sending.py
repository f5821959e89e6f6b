"""Sends a message to a device at least once, by FCM in the org's name (docs: fcm.md#once).

FCM knows no key and cannot be asked. A message whose answer was lost is sent again, under the same tag: a device shows
both in one place, while one that never comes is lost for good.
"""

from contextlib import AbstractContextManager
from uuid import UUID

from domain.jobs.effects import Strategy
from domain.jobs.job import JsonObject
from domain.notifications.channels import Channel
from domain.notifications.plan import Reason
from engine.context import JobContext
from observability.on_demand import on_demand
from providers.ports.push import OutgoingPush, PushSender
from storage.notifications import channel_senders
from storage.notifications.channel_senders import ChannelSender
from tasks.notifications.senders.due_messages import DueMessage
from tasks.notifications.senders.vendor_clients import open_client

PROVIDER = "fcm"
KEY = "push"
ANSWER_WITHIN_S = 15.0
"""How long one call may take in all."""


def key_of(delivery_id: UUID) -> str:
    """The key of the effect."""
    return f"{KEY}:{delivery_id}"


def send(ctx: JobContext, due: DueMessage) -> str | Reason:
    """Send the message; returns its name at FCM."""
    with ctx.read() as tx:
        sender = channel_senders.find(tx, ctx.org_id, Channel.PUSH)
    if sender is None:
        return Reason.NO_SENDER
    delivery_id, message = due.delivery.delivery_id, due.message
    outgoing = OutgoingPush(
        token=due.contact.address,
        title=due.words.title,
        body=due.words.body,
        link=due.words.link,
        tag=str(delivery_id),
        ttl=message.asked_at + message.max_age - ctx.now(),
    )
    with _client(ctx, sender) as client:

        def call() -> JsonObject:
            return {"provider_id": client.send(outgoing)}

        return str(ctx.effect(key_of(delivery_id), call, strategy=Strategy.IDEMPOTENT)["provider_id"])


def _client(ctx: JobContext, sender: ChannelSender) -> AbstractContextManager[PushSender]:
    return open_client(
        ctx,
        sender,
        on_demand("providers.fcm.sender:FcmSender"),
        project=sender.from_name,
        api_url=ctx.settings.fcm_api_url,
        token_url=ctx.settings.fcm_token_url,
        tokens=ctx.shared(f"{PROVIDER}.tokens", on_demand("providers.fcm.tokens:TokenStore")),
        timeout_s=ANSWER_WITHIN_S,
    )

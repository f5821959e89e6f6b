"""Sends a text message at most once, by Twilio in the org's name (docs: twilio.md#once).

Twilio knows no key. A call whose end is not known is looked for by number, time and body; what is not listed may still
come, so nothing is ever proved not to have been sent, and nothing is sent again.
"""

from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from uuid import UUID

from domain.jobs.effects import CannotTell, Finding, Found
from domain.jobs.failures import CredentialsLost, InFlight
from domain.jobs.job import JsonObject
from domain.notifications.channels import Channel
from domain.notifications.delivery import DeliveryState
from domain.notifications.plan import Reason
from engine.context import JobContext
from providers.ports.sms import OutgoingSms, SmsSender
from providers.twilio.sender import TwilioSender
from storage.jobs import effects
from storage.notifications import channel_senders, notifications
from storage.notifications.channel_senders import ChannelSender
from tasks.notifications.senders import due_messages
from tasks.notifications.senders.due_messages import DueMessage
from tasks.notifications.senders.lost_credentials import asked_again_later
from tasks.notifications.senders.vendor_clients import open_client

PROVIDER = "twilio"
KEY = "sms"
ANSWER_WITHIN_S = 15.0
"""How long one call may take in all."""
LISTED_WITHIN = timedelta(minutes=2)
"""How long a message may be missing from Twilio's list; ours, for Twilio promises nothing."""
LOOK_AGAIN_AFTER = timedelta(seconds=30)


def key_of(delivery_id: UUID) -> str:
    """The key of the effect."""
    return f"{KEY}:{delivery_id}"


def send(ctx: JobContext, due: DueMessage) -> str | Reason:
    """Send the message; returns its id at Twilio."""
    with ctx.read() as tx:
        sender = channel_senders.find(tx, ctx.org_id, Channel.SMS)
    if sender is None:
        return Reason.NO_SENDER
    message, delivery_id = _message(ctx, due), due.delivery.delivery_id
    with _client(ctx, sender) as client:

        def call() -> JsonObject:
            return {"provider_id": client.send(message)}

        find = partial(_find, ctx, client, message, key_of(delivery_id))
        return str(ctx.effect(key_of(delivery_id), call, find=find)["provider_id"])


def find_later(ctx: JobContext, delivery_id: UUID, key: str) -> Finding:
    """Whether the message of a job that has ended was sent."""
    with ctx.read() as tx:
        delivery = notifications.delivery(tx, delivery_id)
        if delivery is not None and delivery.provider_id is not None:
            # Twilio has said so by a callback; the words are gone with that.
            return Found({"provider_id": delivery.provider_id})
        due = None if delivery is None else due_messages.read(tx, delivery)
        sender = channel_senders.find(tx, ctx.org_id, Channel.SMS)
    if due is None or sender is None:
        return CannotTell("its recipient, its address or the org's sender was removed")
    message = _message(ctx, due)
    try:
        with _client(ctx, sender) as client:
            found = _find(ctx, client, message, key)
    except CredentialsLost as lost:
        raise asked_again_later(lost) from lost
    if isinstance(found, Found):
        with ctx.tx() as tx:
            sid = str(found.result["provider_id"])
            notifications.advance(tx, delivery_id, DeliveryState.HANDED_OVER, provider_id=sid)
    return found


def _find(ctx: JobContext, client: SmsSender, message: OutgoingSms, key: str) -> Finding:
    with ctx.read() as tx:
        since = effects.began_at(tx, ctx.org_id, key)
    if since is None:
        return CannotTell("nobody knows since when it was under way")
    listed = client.sent_since(message, since)
    with ctx.read() as tx:
        known = notifications.known_provider_ids(tx, ctx.org_id, listed)
    # The same words to the same number may be another delivery's.
    own = [one for one in listed if one not in known]
    if len(own) == 1:
        return Found({"provider_id": own[0]})
    if not own and ctx.now() - since < LISTED_WITHIN:
        raise InFlight("Twilio lists no such message yet", wait=LOOK_AGAIN_AFTER)
    return CannotTell("Twilio lists several such messages" if own else "Twilio lists no such message")


def _message(ctx: JobContext, due: DueMessage) -> OutgoingSms:
    url = ctx.settings.public_url
    callback = f"{url}/webhooks/twilio/{due.delivery.delivery_id}" if url else None
    return OutgoingSms(due.contact.address, due.words.body, callback)


def _client(ctx: JobContext, sender: ChannelSender) -> AbstractContextManager[SmsSender]:
    given = {"from_name": sender.from_name, "api_url": ctx.settings.twilio_api_url, "timeout_s": ANSWER_WITHIN_S}
    return open_client(ctx, sender, TwilioSender, **given)

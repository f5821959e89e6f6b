"""Who tells what became of messages: Twilio and Resend, proven by the secrets of the org that they speak to."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import structlog
from fastapi import Depends, HTTPException, Request, status
from pydantic import SecretStr

from domain.jobs.failures import CredentialsLost, Gone, Invalid
from domain.notifications.channels import Channel
from domain.notifications.receipts import Receipt, SmsReply, email_receipt, sms_receipt, sms_reply
from gateway.http.bodies import form_fields, read_body
from gateway.http.cells import refuse_moved
from gateway.http.org_slots import in_slot_of_org
from gateway.http.resources import Resources, resources_of
from providers.secret_texts import read_texts
from providers.webhooks import svix, twilio
from storage.notifications import channel_senders, notifications
from storage.notifications.notifications import Delivery
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import Sealer, SecretPlace
from storage.postgres.database import TenantTransaction

log = structlog.get_logger(__name__)

LONGEST_CALLBACK = 64 * 1024
"""Bytes; Twilio's have some 500, Resend's some thousand."""
CALLBACK_WITHIN_S = 10.0
RESEND_SECRET = "resend_webhook"  # noqa: S105 - the name of a secret
"""The org's secret that signs Resend's callbacks, as its page shows it: `whsec_…`."""


@dataclass(frozen=True, slots=True)
class SmsCallback:
    """What Twilio says of a delivery that is known."""

    delivery: Delivery
    sid: str
    receipt: Receipt | None

    @property
    def org_id(self) -> UUID:
        """Whose delivery it is."""
        return self.delivery.org_id


@dataclass(frozen=True, slots=True)
class IncomingSms:
    """A text that came to the org's number; what stands in it besides is read by nobody."""

    org_id: UUID
    number: str
    reply: SmsReply | None


@dataclass(frozen=True, slots=True)
class EmailCallback:
    """What Resend says: of which mail, and what; None for what changes nothing."""

    org_id: UUID
    said: tuple[str, Receipt] | None


async def callback_body(request: Request) -> bytes:
    """A callback's body."""
    return await read_body(request, LONGEST_CALLBACK, LONGEST_CALLBACK, within_s=CALLBACK_WITHIN_S)


CallbackBody = Annotated[bytes, Depends(callback_body)]


def twilio_callback(request: Request, delivery_id: UUID, body: CallbackBody) -> SmsCallback | None:
    """Twilio on behalf of the org whose delivery it is; None for a delivery that is not known, 403 for a forgery."""
    with resources_of(request).database.ledger() as tx:
        delivery = notifications.delivery(tx, delivery_id)
    if delivery is None:
        return None
    found = _twilio_fields(request, delivery.org_id, f"/webhooks/twilio/{delivery_id}", body)
    return SmsCallback(delivery, found.get("MessageSid", "")[:100], sms_receipt(found))


def twilio_reply(request: Request, org_id: UUID, body: CallbackBody) -> IncomingSms:
    """Twilio on behalf of the org to whose number a text came; 403 for a forgery, 421 where the org has moved."""
    refuse_moved(request, org_id)
    found = _twilio_fields(request, org_id, f"/webhooks/twilio/replies/{org_id}", body)
    return IncomingSms(org_id, found.get("From", "")[:100], sms_reply(found))


def _twilio_fields(request: Request, org_id: UUID, path: str, body: bytes) -> dict[str, str]:
    """What the form says that Twilio has signed with the org's token.

    The address that was signed is the one that was handed over, put together from the setting: what a proxy has made
    of scheme, port or query does not matter.
    """
    resources = resources_of(request)
    with resources.database.tenant(org_id) as tx:
        sender = channel_senders.find(tx, org_id, Channel.SMS)
        secret = None if sender is None else _secret(tx, resources, org_id, sender.secret)
    try:
        fields = form_fields(body)
    except Invalid:
        raise _refused("twilio.body") from None
    url = f"{resources.settings.public_url}{path}"
    token = _auth_token(secret)
    signature = request.headers.get(twilio.SIGNATURE, "")
    if token is None or not twilio.is_signed(token, url, [*fields.items()], signature):
        raise _refused("twilio.signature")
    return fields


def resend_callback(request: Request, org_id: UUID, body: CallbackBody) -> EmailCallback | None:
    """Resend on behalf of the org; None for an org that is not known or has given no secret, 403 for a forgery."""
    resources = resources_of(request)
    with resources.database.tenant(org_id) as tx:
        secret = _secret(tx, resources, org_id, RESEND_SECRET)
    if secret is None:
        refuse_moved(request, org_id)
        return None
    try:
        is_signed = svix.is_signed(secret, dict(request.headers), body, datetime.now(UTC))
    except ValueError as error:
        log.warning("webhook_secret_unusable", org_id=str(org_id), reason=str(error))
        raise _refused("resend.secret") from None
    if not is_signed:
        raise _refused("resend.signature")
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        event = None
    return EmailCallback(org_id, email_receipt(event) if isinstance(event, dict) else None)


TwilioCaller = Annotated[SmsCallback | None, Depends(in_slot_of_org(twilio_callback), scope="function")]
TwilioReply = Annotated[IncomingSms, Depends(in_slot_of_org(twilio_reply), scope="function")]
ResendCaller = Annotated[EmailCallback | None, Depends(in_slot_of_org(resend_callback), scope="function")]

VERIFIERS = frozenset({twilio_callback, twilio_reply, resend_callback})
"""Every dependency that proves whose callback it is."""


def _secret(tx: TenantTransaction, resources: Resources, org_id: UUID, name: str) -> SecretStr | None:
    try:
        return org_secrets.opened(tx, Sealer.of(resources.settings), SecretPlace(org_id, name))
    except Gone:
        return None


def _auth_token(secret: SecretStr | None) -> str | None:
    try:
        return None if secret is None else read_texts("twilio", secret, "auth_token")[0]
    except CredentialsLost:
        return None


def _refused(code: str) -> HTTPException:
    log.warning("caller_refused", code=code)
    return HTTPException(status.HTTP_403_FORBIDDEN, code)

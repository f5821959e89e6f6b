"""Callbacks that tell what became of messages: verified, in any order, doubled. What nobody knows is answered 200.

A provider sends a callback again that is answered otherwise, for days, and nothing would come of it.
"""

from enum import StrEnum
from uuid import UUID

import structlog
from fastapi import APIRouter, Request, Response

from domain.jobs.job import ActorType
from domain.notifications.channels import Channel
from domain.notifications.receipts import SmsReply
from domain.orgs.access.api_keys import Role
from gateway.http.receipt_callers import ResendCaller, TwilioCaller, TwilioReply
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from operations.notifications.people import allow_contact_point
from storage.mail.accounts import pushes
from storage.notifications import people, receipts
from storage.postgres.database import Transaction

log = structlog.get_logger(__name__)
router = APIRouter()


class ReceiptResult(StrEnum):
    """What became of a verified callback."""

    NEWS = "news"
    OLD = "old"
    UNKNOWN = "receipt_unknown"
    """Of a message that is not known, or not yet."""
    MEANINGLESS = "receipt_meaningless"


COUNTED = frozenset({ReceiptResult.UNKNOWN, ReceiptResult.MEANINGLESS})


@router.post("/webhooks/twilio/{delivery_id}")  # noqa: FAST003  # its caller's dependency takes the id
def twilio(request: Request, callback: TwilioCaller) -> Response:
    """What became of a text message."""
    with resources_of(request).database.ledger() as tx:
        result = ReceiptResult.UNKNOWN
        if callback is not None:
            known, receipt = callback.delivery, callback.receipt
            is_other = known.provider_id not in {None, callback.sid}
            result = ReceiptResult.MEANINGLESS
            if receipt is not None and not is_other:
                is_news = receipts.apply(tx, known.org_id, known.delivery_id, receipt, provider_id=callback.sid)
                result = ReceiptResult.NEWS if is_news else ReceiptResult.OLD
        return _answered("twilio", result, tx)


@router.post("/webhooks/twilio/replies/{org_id}")
def twilio_replied(request: Request, org_id: UUID, incoming: TwilioReply) -> Response:
    """A text that came in: STOP ends texts to the number, and START lifts what a STOP has ended, for whoever has it."""
    resources = resources_of(request)
    with resources.database.ledger() as tx:
        if incoming.reply is None:
            return _answered("twilio", ReceiptResult.MEANINGLESS, tx)
        if incoming.reply is SmsReply.STOP:
            people.suppress_address(tx, org_id, Channel.SMS, incoming.number, "stop")
            return _answered("twilio", ReceiptResult.NEWS, tx)
        found = people.contacts_of_address(tx, org_id, Channel.SMS, incoming.number)
        stopped = [one for one in found if one.suppressed_for == "stop"]
        for contact in stopped:
            origin = origin_of(request, f"sms:{contact.user_id}", ActorType.USER)
            call = resources.call(origin, Role.OPERATOR, "START by text message", org_id=org_id, within=tx)
            allow_contact_point(call, contact.user_id, contact.contact_id)
        return _answered("twilio", ReceiptResult.NEWS if stopped else ReceiptResult.OLD, tx)


@router.post("/webhooks/resend/{org_id}")
def resend(request: Request, org_id: UUID, callback: ResendCaller) -> Response:
    """What became of an e-mail; it may come before its send is written down, and is kept until then."""
    with resources_of(request).database.ledger() as tx:
        if callback is None:
            return _answered("resend", ReceiptResult.UNKNOWN, tx)
        if callback.said is None:
            return _answered("resend", ReceiptResult.MEANINGLESS, tx)
        provider_id, receipt = callback.said
        delivery_id = receipts.record_email_receipt(tx, org_id, provider_id, receipt)
        if delivery_id is None:
            return _answered("resend", ReceiptResult.UNKNOWN, tx)
        is_news = receipts.apply(tx, org_id, delivery_id, receipt)
        return _answered("resend", ReceiptResult.NEWS if is_news else ReceiptResult.OLD, tx)


def _answered(provider: str, result: ReceiptResult, tx: Transaction) -> Response:
    if result in COUNTED:
        pushes.count_refused(tx, result.value)
    log.info("receipt", provider=provider, result=result.value)
    return Response()

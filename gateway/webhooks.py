"""Notifications of providers: an answer of 2xx means that the work is stored, or that there is none to do."""

from collections.abc import Sequence
from enum import StrEnum
from operator import attrgetter

import structlog
from fastapi import APIRouter, Request, Response, status

from domain.jobs.failures import Invalid, Transient
from domain.jobs.job import NewJob, Origin
from domain.payloads.gmail import SyncPayload
from gateway.http.bodies import BoundedBody
from gateway.http.callers import PubsubCaller
from gateway.http.request_ids import origin_of
from gateway.http.resources import Resources, resources_of
from observability.job_spans import enqueue_spans
from providers.google.push import PushNotification, parse_push
from storage.jobs import ledger
from storage.mail.accounts import accounts, pushes
from storage.mail.accounts.accounts import Account
from storage.postgres.apart import together_or_apart

log = structlog.get_logger(__name__)
router = APIRouter()


class PushResult(StrEnum):
    """What became of a verified push."""

    STORED = "stored"
    OLD = "old"
    """Every cursor is past it: there is nothing to fetch."""
    UNPARSABLE = "unparsable"
    UNKNOWN_ACCOUNT = "unknown_account"
    INACTIVE_ACCOUNT = "inactive_account"
    """Disconnected, or waiting for its owner's consent: the sync after that will read what is missed now."""


POISON = frozenset({PushResult.UNPARSABLE, PushResult.UNKNOWN_ACCOUNT, PushResult.INACTIVE_ACCOUNT})
"""Acknowledged and counted, or Pub/Sub would send them again for seven days (docs: gmail-push.md#acknowledgement)."""


@router.post("/webhooks/gmail", status_code=status.HTTP_204_NO_CONTENT)
def gmail(request: Request, _caller: PubsubCaller, body: BoundedBody) -> Response:
    """Gmail's push notification: stores a `gmail.sync` per active account of the mailbox, or none for poison."""
    result = receive(resources_of(request), body, origin_of(request, "pubsub"))
    log.info("push_received", result=result.value)
    return Response(status_code=status.HTTP_204_NO_CONTENT)


def receive(resources: Resources, body: bytes, origin: Origin) -> PushResult:
    """Store what follows from a verified push; raises `Transient` to get it again."""
    try:
        notification = parse_push(body)
    except Invalid as problem:
        log.warning("push_unparsable", field=problem.field, reason=problem.reason)
        notification = None
    with resources.database.statements() as tx:
        found = accounts.by_email(tx, notification.email) if notification else ()
        result, behind = match_accounts(found, notification.history_id) if notification else (PushResult.UNPARSABLE, ())
        if result in POISON:
            pushes.count_refused(tx, result.value)
    if notification:
        _store(resources, [_sync(account, notification, origin) for account in behind])
    return result


def match_accounts(found: Sequence[Account], history_id: int) -> tuple[PushResult, tuple[Account, ...]]:
    """The accounts that have something to fetch, and what to call the push; ids are compared as numbers."""
    active = [account for account in found if account.status == "active"]
    behind = tuple(account for account in active if account.history_id is None or account.history_id < history_id)
    if not found:
        return PushResult.UNKNOWN_ACCOUNT, ()
    if not active:
        return PushResult.INACTIVE_ACCOUNT, ()
    return (PushResult.STORED, behind) if behind else (PushResult.OLD, ())


def _store(resources: Resources, syncs: Sequence[NewJob]) -> None:
    """Store syncs, of one org each; the push must come again where somebody has locked a key of one of them."""

    def enqueue(jobs: Sequence[NewJob]) -> None:
        # Nobody publishes here: the notification wakes the relay, which does.
        with enqueue_spans(jobs) as traced, resources.database.ledger() as tx:
            tx.wait_briefly()
            ledger.enqueue(tx, traced, publisher=False, hint_timeout=resources.hint_timeout)

    try:
        if together_or_apart(syncs, attrgetter("org_id"), enqueue).all:
            raise Transient("somebody has locked the key of a sync", code="gateway.locked")
    except Invalid as problem:
        # No worker has published the job type of a sync yet; the push must come again, not be thrown away.
        raise Transient(problem.reason, code="gateway.catalogue") from problem


def _sync(account: Account, push: PushNotification, origin: Origin) -> NewJob:
    payload = SyncPayload(account_id=account.account_id, history_id=push.history_id, reason="push")
    return payload.job(org_id=account.org_id, origin=origin)

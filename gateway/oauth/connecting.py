"""From Google's code to a connected mailbox: one exchange outside any transaction, then everything in one."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import structlog
from pydantic import SecretStr

from domain.jobs.failures import Failure, Permanent, Throttled, Unauthorised
from domain.mail.consent import (
    CALLBACK,
    ConsentAnswer,
    ConsentRefusal,
    Expected,
    RefusedConsent,
    refusal_of,
    refused_scopes,
)
from domain.payloads.mail_address import address_key
from gateway.http.resources import Resources
from providers.google.addresses import token_uri
from providers.google.consent import OAuthClient, exchange
from providers.google.gmail import GmailMailbox
from storage.jobs import ledger
from storage.mail.accounts import connecting, consents
from storage.mail.accounts.accounts import Consent
from storage.mail.accounts.connecting import OrgMailbox
from storage.mail.accounts.consents import ConsentRequest
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Transaction

log = structlog.get_logger(__name__)

CALL_WITHIN_S = 10.0
"""A person waits in front of an empty page."""

BY_CODE: Mapping[str, ConsentRefusal] = {
    "google.invalid_grant": ConsentRefusal.CODE_REFUSED,
    "google.foreign_identity": ConsentRefusal.CODE_REFUSED,
    "google.admin_policy_enforced": ConsentRefusal.POLICY,
    "google.access_denied": ConsentRefusal.POLICY,
    "gmail.domainPolicy": ConsentRefusal.POLICY,
    "gmail.failedPrecondition": ConsentRefusal.NO_MAILBOX,
}
"""What a refusal of Google's means for the owner."""


@dataclass(frozen=True, slots=True)
class Proven:
    """A consent that covers what was asked for, and whose it is."""

    consent: Consent
    granted: ConsentAnswer


def redirect_uri(resources: Resources) -> str:
    """Where Google sends browsers back to, as it is registered with the OAuth client."""
    return resources.settings.public_url + CALLBACK


def connect(resources: Resources, request: ConsentRequest, code: str) -> UUID | RefusedConsent | None:
    """Exchange a code and connect the mailbox; None when another request has taken the state, or ended it meanwhile.

    Raises `Throttled` when too many exchanges are under way: the code stays good. The attempt that takes the state
    writes down what became of it; one that dies before that leaves a request that is broken off.
    """
    verifier = request.verifier(Sealer.of(resources.settings)) if request.state == "sent" else ""
    with resources.exchanges.hold(request.org_id):
        with resources.database.ledger() as tx:
            if not consents.take(tx, request):
                return None
        try:
            proven = _prove(resources, request, code, verifier)
        except Failure as failure:
            log.warning("consent_not_exchanged", code=failure.code, reason=failure.reason)
            proven = _refused(failure)
        with resources.database.ledger() as tx:
            if not consents.hold(tx, request):
                return None
            outcome = proven if isinstance(proven, RefusedConsent) else _store(tx, resources, request, proven)
            consents.end(tx, request, outcome)
        return outcome


def _prove(resources: Resources, request: ConsentRequest, code: str, verifier: str) -> Proven | RefusedConsent:
    settings = resources.settings
    timeout_s = min(CALL_WITHIN_S, settings.google_request_timeout_s)
    client = OAuthClient(
        settings.google_client_id, settings.google_client_secret.get_secret_value(), redirect_uri(resources)
    )
    given = exchange(
        code,
        client,
        verifier=verifier,
        nonce=str(request.request_id),
        token_uri=token_uri(settings.google_url),
        timeout_s=timeout_s,
    )
    incomplete = refused_scopes(request.scopes, given.scopes)
    if incomplete is not None:
        return incomplete
    if given.refresh_token is None:
        return RefusedConsent(ConsentRefusal.NO_REFRESH_TOKEN)
    # The address under which Gmail pushes; the one of the Google account may be another.
    with GmailMailbox(
        account="",
        access_token=given.access_token,
        timeout_s=timeout_s,
        meter=_unmetered,
        endpoint=settings.google_url,
    ) as mailbox:
        email = address_key(mailbox.profile().email)
    consent = Consent(
        access_token=SecretStr(given.access_token),
        refresh_token=SecretStr(given.refresh_token),
        access_expires_at=given.expires_at,
        scopes=tuple(sorted(given.scopes)),
        subject=given.subject,
    )
    return Proven(consent, ConsentAnswer(email, given.scopes))


def _store(tx: Transaction, resources: Resources, request: ConsentRequest, proven: Proven) -> UUID | RefusedConsent:
    """Connect the mailbox and start its jobs, unless it is not the one that was asked for."""
    refused = refusal_of(Expected(request.email, request.scopes), proven.granted)
    if refused is not None:
        return refused
    mailbox = OrgMailbox(request.org_id, request.email, request.owner)
    found = connecting.connect(tx, Sealer.of(resources.settings), mailbox, proven.consent, by=request.asked_by)
    if isinstance(found, RefusedConsent):
        return found
    ledger.enqueue(tx, found.first_jobs(request.asked_by), publisher=False, hint_timeout=resources.hint_timeout)
    return found.account.account_id


def _refused(failure: Failure) -> RefusedConsent:
    why = BY_CODE.get(failure.code)
    if why is not None:
        return RefusedConsent(why)
    # A guessed wait is for what an operator must mend.
    if isinstance(failure, Permanent | Unauthorised) or (isinstance(failure, Throttled) and failure.grows):
        return RefusedConsent(ConsentRefusal.CLIENT_REFUSED, failure.code)
    return RefusedConsent(ConsentRefusal.NO_ANSWER, failure.code)


def _unmetered(_method: str, _units: int) -> None:
    """One call of one unit, before there is an account that it could be counted for."""

"""Opens an account's mailbox for one job, with a fresh token (docs: google-oauth.md#refreshing)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol, TypedDict
from uuid import UUID

from pydantic import SecretStr

from domain.jobs.failures import Failure, Gone, Scope, Throttled, Unauthorised
from domain.notifications.alerts.alert import Alert, AlertKind, payload_of
from engine.beside_failure import beside_failure
from engine.catalogue import Hold
from engine.context import JobContext
from engine.interrupts import Canceled, Interrupted
from observability.on_demand import on_demand
from providers.google.addresses import token_uri
from providers.ports import Mailbox, Meter
from storage.jobs import audit
from storage.mail.accounts import accounts, tokens
from storage.mail.accounts.accounts import Account, Status
from storage.mail.accounts.tokens import Refreshed, Tokens
from storage.postgres.database import Transaction

REFRESH_EARLY = timedelta(minutes=5)
"""Early enough that jobs without the lease can still use the old token."""

SETTLES_WITHIN = timedelta(seconds=10)
"""A sent message can take some seconds to appear in its thread; before that nothing is concluded from its absence."""


class Disconnected(Canceled):
    """The job's account was taken away by its owner. That is no failure: the job is canceled, and says why."""

    code = "account.disconnected"


def refusal_of(account_id: UUID, status: Status) -> Failure | None:
    """Why no job may open the mailbox of an account that stands so; None when jobs may (docs: accounts.md).

    `Disconnected`, which ends the job, for a closed account. `Unauthorised`, which parks the job until consent is given
    again, for one whose consent is gone.
    """
    if status == "disconnected":
        return Disconnected("the account was disconnected")
    if status == "needs_reconsent":
        return Unauthorised("the account must be connected again", account=str(account_id))
    return None


def check_connected(account: Account) -> None:
    """Raise `refusal_of` before anything is done or paid for an account that no job may touch."""
    refusal = refusal_of(account.account_id, account.status)
    if refusal is not None:
        raise refusal


class MayHaveMailbox(Protocol):
    """What names one account, as the payload of a mail job, or none, where a job can do without."""

    @property
    def account_id(self) -> UUID | None:
        """The account's id; None for a job that touches no mailbox."""
        ...


def hold_mailbox(tx: Transaction, payload: MayHaveMailbox) -> Failure | None:
    """Lock the mailbox first in each writing transaction of a job, its settlement too (docs: mail-handlers.md#locks).

    Raises `Disconnected` for a closed account. A lost consent is returned: the job writes down what it has done, and
    begins nothing new.
    """
    account_id = payload.account_id
    if account_id is None:
        return None
    try:
        status = accounts.lock(tx, account_id)
    except Gone:
        # It has no rows; the handler refuses the payload by its field.
        return None
    refusal = refusal_of(account_id, status)
    if isinstance(refusal, Disconnected):
        raise refusal
    return refusal


MAILBOX_AUDITS = ("account.needs_reconsent", "rule.disabled")
"""What any job that opens a mailbox may append to the audit log."""


class MailboxFacts(TypedDict):
    """What the types of jobs that work in one mailbox have in common, as `job` takes it."""

    audits: tuple[str, ...]
    holds: Hold


OF_MAILBOX: MailboxFacts = {"audits": MAILBOX_AUDITS, "holds": hold_mailbox}

WHILE_ANOTHER_REFRESHES = timedelta(seconds=2)
"""Longer than a refresh takes; until then no job of the account can use the expired token."""


@contextmanager
def open_mailbox(
    ctx: JobContext,
    account: Account,
    *,
    share: str | None = None,
) -> Iterator[Mailbox]:
    """Open the mailbox of an account that the job has read; marks the account when its consent is gone.

    With `share`, calls are counted under that name of `domain/jobs/scheduling/limits.py`, too.

    Raises as `check_connected`, `Interrupted` when the job should simply be tried again with a newer token, `Throttled`
    for a moment while another process refreshes a dead one, `Unauthorised` when the account must be connected again,
    and whatever the calls inside raise.
    """
    check_connected(account)
    account_id = account.account_id
    held = _fresh_tokens(ctx, tokens.opened(ctx.sealer, account))
    if held.access_token is None:
        raise Unauthorised("the account has no access token", account=str(account_id))
    settings = ctx.settings
    try:
        with on_demand("providers.google.gmail:GmailMailbox")(
            account=str(account_id),
            access_token=held.access_token.get_secret_value(),
            timeout_s=settings.google_request_timeout_s,
            meter=_meter(ctx, str(account_id), share),
            endpoint=settings.google_url,
            clock=ctx.clock,
        ) as mailbox:
            yield mailbox
    except Unauthorised as refusal:
        _answer_refusal(ctx, held, refusal)
        raise


def _meter(ctx: JobContext, account: str, share: str | None) -> Meter:
    whole = ctx.meter("gmail", account)
    if share is None:
        return whole
    part = ctx.meter(share, account)

    def ask(method: str, units: int) -> None:
        part(method, units)
        whole(method, units)

    return ask


def _fresh_tokens(ctx: JobContext, held: Tokens) -> Tokens:
    if held.access_expires_at is None or held.access_expires_at - ctx.now() < REFRESH_EARLY:
        return _refresh(ctx, held)
    return held


def _refresh(ctx: JobContext, held: Tokens) -> Tokens:
    account_id, owner = held.account_id, ctx.job.token
    with ctx.tx() as tx:
        leads = tokens.take_refresh_lease(tx, account_id, owner=owner, version=held.version)
    if not leads:
        return _wait_for_other(ctx, held)
    try:
        fresh = _ask_google(ctx, held)
    except Failure as failure:
        with beside_failure("refresh_lease"), ctx.tx() as tx:
            tokens.release(tx, account_id, owner=owner)
        if isinstance(failure, Unauthorised):
            _mark(ctx, held, failure)
        raise
    # Storing ends the lease; given back any sooner, another process would refresh a second time.
    with ctx.tx() as tx:
        tokens.store_refreshed(tx, ctx.sealer, account_id, version=held.version, refreshed=fresh)
    return _read(ctx, held.account_id)


def _wait_for_other(ctx: JobContext, held: Tokens) -> Tokens:
    """While another process refreshes, use the old token until it expires; then all jobs of the account wait."""
    now = _read(ctx, held.account_id)
    if now.access_expires_at is not None and now.access_expires_at > ctx.now():
        return now
    raise _another_refreshes()


def _another_refreshes() -> Throttled:
    return Throttled(
        "another process refreshes the account's token",
        retry_after=WHILE_ANOTHER_REFRESHES,
        scope=Scope.ACCOUNT,
        provider="google",
        code="google.refreshing",
    )


def _ask_google(ctx: JobContext, held: Tokens) -> Refreshed:
    settings = ctx.settings
    if held.refresh_token is None:
        raise Unauthorised("the account has no refresh token", account=str(held.account_id))
    fresh = on_demand("providers.google.oauth:refresh")(
        held.refresh_token.get_secret_value(),
        account=str(held.account_id),
        client_id=settings.google_client_id,
        client_secret=settings.google_client_secret.get_secret_value(),
        token_uri=token_uri(settings.google_url),
        timeout_s=settings.google_request_timeout_s,
        clock=ctx.clock,
    )
    replaced = None if fresh.refresh_token is None else SecretStr(fresh.refresh_token)
    return Refreshed(SecretStr(fresh.access_token), fresh.expires_at, replaced)


def _answer_refusal(ctx: JobContext, held: Tokens, refusal: Unauthorised) -> None:
    """A refused token is refreshed once per attempt; when its successor is refused too, the account is marked."""
    if refusal.code != "gmail.authError":
        _mark(ctx, held, refusal)
        return
    # An interrupted attempt is given back and keeps its number, so the step spans the refusal and what followed.
    first = ctx.step(f"token_refused:{ctx.job.attempt}", lambda: {"version": held.version})
    if _read(ctx, held.account_id).version != held.version:
        raise Interrupted("the token was refreshed meanwhile") from None
    if held.version > first["version"]:
        _mark(ctx, held, refusal)
        return
    if _refresh(ctx, held).version == held.version:
        raise _another_refreshes() from None
    raise Interrupted("the token was refused and has been refreshed") from None


def _mark(ctx: JobContext, held: Tokens, refusal: Unauthorised) -> None:
    """Park the account and raise an alert, once per loss of consent; a newer token puts the refusal out of date."""
    with ctx.tx() as tx:
        first = accounts.mark_needs_reconsent(tx, held.account_id, version=held.version, reason=refusal.reason)
        if first:
            audit.append(tx, ctx.job, "account.needs_reconsent", {"account_id": str(held.account_id)})
            alert = Alert(AlertKind.CONSENT, str(held.account_id), ctx.now(), detail=refusal.code)
            ctx.enqueue(tx, payload_of(alert))
    if first:
        ctx.log.error("account_needs_reconsent", account_id=str(held.account_id), code=refusal.code)
    elif _read(ctx, held.account_id).version != held.version:
        raise Interrupted("the token was refreshed meanwhile") from None


def _read(ctx: JobContext, account_id: UUID) -> Tokens:
    """The tokens of now; raises as `check_connected` for an account that was closed or lost its consent meanwhile."""
    with ctx.read() as tx:
        account = accounts.get(tx, account_id)
    check_connected(account)
    return tokens.opened(ctx.sealer, account)

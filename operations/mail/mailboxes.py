"""Mailboxes: where each stands, what is set for it, what its owner corrected, what is done anew, and its end."""

from datetime import UTC, datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BaseModel, Field

from domain.jobs.job import Enqueued
from domain.mail.account_settings import MODEL_MAY_ASK, parse_settings
from domain.mail.triage.safety_policy import PolicyDocument
from domain.orgs.access.api_keys import Role
from domain.payloads.gmail import RenewWatchPayload, SyncPayload
from domain.payloads.mail_address import address_key
from domain.payloads.mail_fields import GmailId
from domain.payloads.triage import ClassifyPayload
from operations.call import Call
from operations.mail.accounts import account_of, target_to_write
from operations.operation import WORDS, Area, Option, Record, Route
from operations.pages import Page, Window
from storage.mail import messages
from storage.mail.accounts import accounts, disconnecting
from storage.mail.accounts.accounts import Status
from storage.mail.rules import corrections, owner_settings

ACCOUNTS = Area("accounts", "Connect mailboxes and look at them.")
NONE = "none"
"""The word by which the command line empties the list of the model's actions."""
WITHOUT_REASON = "disconnected without a reason"
MOST_CORRECTIONS = 1_000


class AccountView(Record):
    """A mailbox that is or was connected, and never its tokens. A Google user has one account per mailbox and org."""

    plural: ClassVar = "accounts"
    columns: ClassVar = (
        "account_id", "org_id", "email", "status", "status_reason", "history_id", "watch_expires_at", "full_synced_at",
    )  # fmt: skip
    account_id: UUID
    org_id: UUID
    email: str
    status: Status
    status_reason: str | None
    status_changed_at: datetime
    history_id: int | None = Field(description="How far the mailbox's history was read.")
    full_synced_at: datetime | None
    watch_expires_at: datetime | None
    created_at: datetime


class RunningBackfill(BaseModel):
    """Older mail that is being taken in."""

    job_id: UUID
    query: str
    found: int = Field(description="Messages that Gmail has named so far.")
    ordered: int = Field(description="Of these, those that were new.")
    handled: int
    stored: int
    started_at: datetime
    changed_at: datetime


class MailboxStanding(AccountView):
    """How a mailbox is: its consent, its watch, its mail of today, and what waits."""

    values: ClassVar = ("backfills.query",)
    watch_renewed_at: datetime | None
    newest_mail_at: datetime | None = Field(description="When the newest stored message came or was sent.")
    sent_today: int = Field(description="Messages that left the mailbox since midnight UTC, its owner's too.")
    sending_paused_until: datetime | None = Field(description="Gmail's limit on sent mail was reached.")
    actions_waiting: int = Field(description="Actions that wait for a person; counted up to 1,000.")
    backfills: list[RunningBackfill] = Field(description="Older mail that is being taken in; the newest five.")


class SettingsView(Record):
    """A mailbox's settings."""

    account_id: UUID
    label_parent: str
    send_allowed: bool
    agent_enabled: bool
    model_actions: list[str]
    safety: PolicyDocument = Field(description="The policy that holds, from the mailbox's own and its org's.")


class CorrectionView(Record):
    """A label of ours that the owner took off."""

    values: ClassVar = ("sender",)
    plural: ClassVar = "corrections"
    columns: ClassVar = ("at", "label", "moved_to", "classification", "sender", "message_id")
    message_id: str
    sender: str | None
    label: str
    moved_to: str | None = Field(description="The label that came in its place.")
    classification: str
    at: datetime


class OrderedJob(Record):
    """The job that does what was asked of a mailbox."""

    account_id: UUID
    job_id: UUID
    created: bool = Field(
        description="False where the same request has made the job before, or one of its kind waited already."
    )


class DisconnectedAccount(Record):
    """A mailbox whose tokens are forgotten."""

    account_id: UUID
    status: Status
    canceled_actions: list[UUID] = Field(description="What waited for approval.")
    ended_orders: int = Field(description="How many drafts were still waited for.")


@ACCOUNTS.look("list", Route("GET", "/accounts"), org="optional")
def list_accounts(
    call: Call,
    window: Window,
    *,
    email: Annotated[
        str | None,
        Field(max_length=320, description="Only the account by which the mailbox of this address is connected now."),
    ] = None,
) -> Page[AccountView]:
    """List mailboxes by address, with their state, cursor and watch."""
    with call.reading() as tx:
        of_email = email and address_key(email)
        return window.records(tx, "list_accounts", AccountView, org_id=call.org_id, of_email=of_email)


@ACCOUNTS.look("show", Route("GET", "/accounts/{account_id}"), org="optional")
def show_account(call: Call, account_id: UUID) -> AccountView:
    """Show a mailbox. An address names the account by which it is connected now."""
    with call.reading() as tx:
        return AccountView.model_validate(account_of(tx, account_id, call.org_id))


@ACCOUNTS.look("standing", Route("GET", "/accounts/{account_id}/standing"))
def read_standing(call: Call, account_id: UUID) -> MailboxStanding:
    """Show how a mailbox is: consent, watch, newest mail, what was sent today, and what waits."""
    with call.reading() as tx:
        account = account_of(tx, account_id, call.org_id)
        facts = {name: getattr(account, name) for name in AccountView.model_fields}
        return MailboxStanding(**facts, **accounts.standing(tx, account_id)._asdict())


@ACCOUNTS.look("settings", Route("GET", "/accounts/{account_id}/settings"))
def read_settings(call: Call, account_id: UUID) -> SettingsView:
    """Show a mailbox's settings, and the safety policy that holds for it."""
    with call.reading() as tx:
        account_of(tx, account_id, call.org_id)
        return SettingsView(**owner_settings.settings_of(tx, account_id))


@ACCOUNTS.deed("set", Route("PATCH", "/accounts/{account_id}/settings"), events=("account.set",))
def change_settings(
    call: Call,
    account_id: UUID,
    *,
    label_parent: Annotated[
        str | None, Field(description="The label under which ours are made; labels that exist keep their names.")
    ] = None,
    send_allowed: Annotated[
        bool | None,
        Field(strict=True, description="Whether an agent gets a tool that sends. Off: there is no such tool."),
    ] = None,
    agent_enabled: Annotated[
        bool | None, Field(strict=True, description="Whether messages may be routed to agents.")
    ] = None,
    model_actions: Annotated[
        list[str] | None,
        Field(
            max_length=len(MODEL_MAY_ASK),
            description="The actions that the model may ask for, in the place of those before; `none` for none.",
        ),
        Option("--model-action"),
    ] = None,
) -> SettingsView:
    """Change some of a mailbox's settings."""
    actions = None if model_actions is None else [one for one in model_actions if one != NONE]
    given = {"label_parent": label_parent, "send_allowed": send_allowed, "agent_enabled": agent_enabled}
    change = parse_settings(given | {"model_actions": actions})
    with call.writing() as tx:
        org_id = target_to_write(tx, account_id, call.org_id).org_id
        accounts.save_settings(tx, account_id, change.changes())
        call.audit(tx, org_id, {"account_id": str(account_id), **change.changes()})
        return SettingsView(**owner_settings.settings_of(tx, account_id))


@ACCOUNTS.look("corrections", Route("GET", "/accounts/{account_id}/corrections"))
def list_corrections(
    call: Call,
    account_id: UUID,
    *,
    limit: Annotated[int, Field(ge=1, le=MOST_CORRECTIONS, description="How many at most.")] = 100,
) -> Page[CorrectionView]:
    """List the labels of ours that the owner took off in the last 90 days; the model is told of them."""
    with call.reading() as tx:
        account_of(tx, account_id, call.org_id)
        found = corrections.recent(tx, account_id, now=datetime.now(UTC), limit=limit).answer
    return Page([CorrectionView.model_validate(one) for one in found], None)


@ACCOUNTS.deed(
    "sync",
    Route("POST", "/accounts/{account_id}/sync", status=202),
    role=Role.WRITER,
    events=("job.enqueued",),
    ledger_audits=True,
    keyed=True,
)
def sync_mailbox(
    call: Call,
    account_id: UUID,
    *,
    force_full: Annotated[
        bool, Field(strict=True, description="Whether the inbox is searched, too, for mail that nobody classified.")
    ] = False,
) -> OrderedJob:
    """Read a mailbox's history now, by a job; one that already waits does it."""
    return _ordered(call, SyncPayload(account_id=account_id, force_full=force_full))


@ACCOUNTS.deed(
    "renew-watch",
    Route("POST", "/accounts/{account_id}/renew-watch", status=202),
    role=Role.WRITER,
    events=("job.enqueued",),
    ledger_audits=True,
    keyed=True,
)
def renew_watch(call: Call, account_id: UUID) -> OrderedJob:
    """Ask Gmail to report a mailbox's changes for another week, by a job; one that already waits does it."""
    return _ordered(call, RenewWatchPayload(account_id=account_id))


@ACCOUNTS.deed(
    "reclassify",
    Route("POST", "/accounts/{account_id}/messages/{message_id}/reclassify", status=202),
    role=Role.WRITER,
    events=("job.enqueued",),
    ledger_audits=True,
    keyed=True,
)
def reclassify_message(
    call: Call, account_id: UUID, message_id: Annotated[GmailId, Field(description="Gmail's id of a stored message.")]
) -> OrderedJob:
    """Decide about a message once more, by a job, whatever was decided; what its person refused stays refused."""
    return _ordered(call, ClassifyPayload(account_id=account_id, message_id=message_id, force=True))


def _ordered(call: Call, payload: SyncPayload | RenewWatchPayload | ClassifyPayload) -> OrderedJob:
    made: list[Enqueued] = []
    with call.writing() as tx:

        def make() -> list[UUID]:
            org_id = target_to_write(tx, payload.account_id, call.org_id).org_id
            if isinstance(payload, ClassifyPayload):
                messages.get(tx, payload.account_id, payload.message_id)  # raises `Gone`
            made.extend(call.enqueue_for(org_id)(tx, payload))
            return [one.job_id for one in made]

        (job_id,) = call.once(tx, make)
    return OrderedJob(account_id=payload.account_id, job_id=job_id, created=any(one.created for one in made))


@ACCOUNTS.deed(
    "disconnect",
    Route("POST", "/accounts/{account_id}/disconnect"),
    events=("account.disconnected",),
    ledger_audits=True,
)
def disconnect_account(
    call: Call,
    account_id: UUID,
    *,
    reason: Annotated[
        str, Field(pattern=WORDS, max_length=500, description="Why; it is shown with the account.")
    ] = WITHOUT_REASON,
) -> DisconnectedAccount:
    """Close an account and forget its tokens: its jobs are canceled when they would run, and what runs ends.

    Actions that wait for approval or for their job end, and so do orders of drafts, whether a label or a service gave
    them. Jobs that wake snoozed messages wait instead. When the same Google user connects the mailbox again, the
    account is opened again, with its mail, rules and settings, and what its rules, model and agents had asked for is
    asked for again; another user gets a new one. Refused when it is disconnected already. Google keeps the consent
    until the owner withdraws it there.
    """
    with call.writing() as tx:
        org_id = account_of(tx, account_id, call.org_id).org_id
        facts = disconnecting.disconnect(tx, account_id, call.enqueue_for(org_id), reason=reason, by=call.origin)
    return DisconnectedAccount(status="disconnected", **{**facts, "account_id": account_id})

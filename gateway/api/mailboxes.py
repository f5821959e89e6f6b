"""`/v1/accounts…` and `/v1/safety`: look-up, settings, safety policy, corrections, disconnection."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType, JsonObject, Origin
from domain.mail.account_settings import parse_settings
from domain.mail.triage.safety_policy import PolicyDocument
from gateway.api.documents import takes
from gateway.api.reasons import Reason, read_body
from gateway.api.rule_models import Removed
from gateway.http.bodies import JsonBody
from gateway.http.callers import Operator, Reader
from gateway.http.problems import problems
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from operations.accounts import account_of, target_to_write
from storage.access.api_keys import Caller
from storage.accounts import accounts, disconnecting
from storage.audit import deeds
from storage.postgres.database import Transaction
from storage.rules import corrections, owner_settings, safety

router = APIRouter(prefix="/v1", tags=["mailboxes"])

DEFAULT_REASON = "asked for over HTTP"


class AccountView(BaseModel):
    """A mailbox that is connected. Each connection is an account of its own."""

    account_id: UUID
    email: str
    status: Literal["active", "needs_reconsent"]
    status_reason: str | None
    status_changed_at: datetime
    full_synced_at: datetime | None
    watch_expires_at: datetime | None


class AccountList(BaseModel):
    """The account by which a mailbox is connected; none when it is not."""

    accounts: list[AccountView]


class SettingsView(BaseModel):
    """A mailbox's settings."""

    account_id: UUID
    label_parent: str
    send_allowed: bool
    agent_enabled: bool
    model_actions: list[str]
    safety: PolicyDocument = Field(description="The policy that holds, from the mailbox's own and its org's.")


class CorrectionView(BaseModel):
    """A label of ours that the owner took off."""

    message_id: str
    sender: str | None
    label: str
    moved_to: str | None = Field(description="The label that came in its place.")
    classification: str
    at: datetime


class CorrectionList(BaseModel):
    """Corrections of the last 90 days, the latest first."""

    corrections: list[CorrectionView]


class DisconnectedAccount(BaseModel):
    """A mailbox whose tokens are forgotten."""

    account_id: UUID
    status: Literal["disconnected"]


@router.get("/accounts", responses=problems(401, 403, 422, 429, 503), operation_id="find_account")
def find_account(
    request: Request, caller: Reader, email: Annotated[str, Query(max_length=320, description="The mailbox.")]
) -> AccountList:
    """Find the account by which a mailbox of the org is connected now."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        found = [one for one in accounts.by_email(tx, email) if one.is_open]
    return AccountList(accounts=[AccountView.model_validate(one, from_attributes=True) for one in found])


@router.get(
    "/accounts/{account_id}/settings", responses=problems(401, 403, 404, 422, 429, 503), operation_id="read_settings"
)
def read_settings(request: Request, caller: Reader, account_id: UUID) -> SettingsView:
    """Look at a mailbox's settings and the safety policy that holds for it."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        return SettingsView(**owner_settings.settings_of(tx, account_id))


@router.patch(
    "/accounts/{account_id}/settings",
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    operation_id="change_settings",
    openapi_extra=takes("SettingsChange"),
)
def change_settings(request: Request, caller: Operator, account_id: UUID, document: JsonBody) -> SettingsView:
    """Change some of a mailbox's settings. 409 when the account is disconnected."""
    change = parse_settings(_object(document))
    with resources_of(request).database.ledger() as tx:
        target_to_write(tx, account_id, caller.org_id)
        accounts.save_settings(tx, account_id, change.changes())
        _record(tx, request, caller, "account.set", {"account_id": str(account_id), **change.changes()})
        return SettingsView(**owner_settings.settings_of(tx, account_id))


@router.patch(
    "/accounts/{account_id}/safety",
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    operation_id="change_account_safety",
    openapi_extra=takes("PolicyDocument"),
)
def change_account_safety(request: Request, caller: Operator, account_id: UUID, document: JsonBody) -> PolicyDocument:
    """Change when a person is asked before an action on a mailbox. Where its org has a policy, the stricter holds."""
    return _change_policy(request, caller, account_id, _object(document))


@router.delete(
    "/accounts/{account_id}/safety",
    responses=problems(401, 403, 404, 409, 422, 429, 503),
    operation_id="remove_account_safety",
)
def remove_account_safety(request: Request, caller: Operator, account_id: UUID) -> Removed:
    """Remove the mailbox's own policy: its org's holds, or the default."""
    return _remove_policy(request, caller, account_id)


@router.get("/safety", responses=problems(401, 403, 404, 422, 429, 503), operation_id="read_safety")
def read_safety(request: Request, caller: Reader) -> PolicyDocument:
    """Look at the org's own safety policy; the default where none is saved."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        own = next((one for one in safety.listed(tx, caller.org_id) if one.account_id is None), None)
    return PolicyDocument() if own is None else PolicyDocument.model_validate(own.document())


@router.patch(
    "/safety",
    responses=problems(401, 403, 404, 408, 413, 415, 422, 429, 503),
    operation_id="change_safety",
    openapi_extra=takes("PolicyDocument"),
)
def change_safety(request: Request, caller: Operator, document: JsonBody) -> PolicyDocument:
    """Change when a person is asked before an action, in all of the org's mailboxes."""
    return _change_policy(request, caller, None, _object(document))


@router.delete("/safety", responses=problems(401, 403, 404, 422, 429, 503), operation_id="remove_safety")
def remove_safety(request: Request, caller: Operator) -> Removed:
    """Remove the org's policy; each mailbox's own holds, or the default."""
    return _remove_policy(request, caller, None)


@router.get(
    "/accounts/{account_id}/corrections",
    responses=problems(401, 403, 404, 422, 429, 503),
    operation_id="list_corrections",
)
def list_corrections(
    request: Request, caller: Reader, account_id: UUID, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> CorrectionList:
    """List the labels of ours that the owner took off in the last 90 days; the model is told of them."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        accounts.get(tx, account_id)
        found = corrections.recent(tx, account_id, now=datetime.now(UTC), limit=limit)
    return CorrectionList(corrections=[CorrectionView.model_validate(one, from_attributes=True) for one in found])


@router.post(
    "/accounts/{account_id}/disconnect",
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    operation_id="disconnect_account",
    openapi_extra=takes("Reason", required=False),
)
def disconnect_account(request: Request, caller: Operator, account_id: UUID, document: JsonBody) -> DisconnectedAccount:
    """Close an account for good and forget its tokens: its jobs are canceled when they would run, and what runs ends.

    Actions that wait for approval end, and so do orders of drafts, whether a label or a service gave them. Jobs that
    wake snoozed messages wait instead. Who connects the mailbox again gets a new account; rules, settings and the like
    go to it when it is the same Google user.

    409 when it is disconnected already. Google keeps the consent until the owner withdraws it there.
    """
    reason = read_body(Reason, document).reason or DEFAULT_REASON
    with resources_of(request).database.ledger() as tx:
        account_of(tx, account_id, caller.org_id)
        by = _origin(request, caller)
        jobs = partial(resources_of(request).enqueue, org_id=caller.org_id, origin=by)
        disconnecting.disconnect(tx, account_id, jobs, reason=reason, by=by)
    return DisconnectedAccount(account_id=account_id, status="disconnected")


def _change_policy(
    request: Request, caller: Caller, account_id: UUID | None, changes: Mapping[str, object]
) -> PolicyDocument:
    with resources_of(request).database.ledger() as tx:
        target_to_write(tx, account_id, caller.org_id)
        by = _origin(request, caller)
        policy = owner_settings.change_policy(tx, caller.org_id, account_id, changes, by=by.actor_id)
        facts = {"account_id": account_id and str(account_id), **policy.model_dump(mode="json")}
        _record(tx, request, caller, "safety.set", facts)
    return policy


def _remove_policy(request: Request, caller: Caller, account_id: UUID | None) -> Removed:
    with resources_of(request).database.ledger() as tx:
        target_to_write(tx, account_id, caller.org_id)
        removed = safety.remove(tx, caller.org_id, account_id)
        if removed:
            _record(tx, request, caller, "safety.removed", {"account_id": account_id and str(account_id)})
    return Removed(removed=removed)


def _object(document: Any) -> Mapping[str, object]:  # noqa: ANN401 - JSON may be anything
    if not isinstance(document, dict):
        raise Invalid("document", "is no JSON object")
    return document


def _record(tx: Transaction, request: Request, caller: Caller, event: str, facts: JsonObject) -> None:
    deeds.record(tx, event, facts, by=_origin(request, caller), org_id=caller.org_id)


def _origin(request: Request, caller: Caller) -> Origin:
    return origin_of(request, str(caller.key_id), ActorType.API_KEY)

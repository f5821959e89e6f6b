"""API keys, with which services hand over work by HTTP: made, listed, revoked."""

import secrets
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.contract import Instant
from domain.orgs.access.api_keys import NOISE, Role, make_key
from domain.orgs.access.operators import OperatorRole
from operations.call import Call
from operations.operation import WORDS, Area, OperatorsOnly, Record
from operations.pages import Page, Window
from storage.orgs.access import api_keys
from storage.orgs.access.api_keys import LONGEST_NAME, KeyOptions

KEYS = Area("keys", "Make, list and revoke API keys: one is for one org and one role.")
ADMINS = OperatorsOnly("a key that makes keys would outlive its own revocation", OperatorRole.ADMIN)


class ApiKeyView(Record):
    """An API key. What lets its holder in is nowhere."""

    plural: ClassVar = "keys"
    columns: ClassVar = (
        "key_id", "org_id", "name", "role", "prefix", "created_at", "expires_at", "revoked_at", "last_used_at",
    )  # fmt: skip
    key_id: UUID
    org_id: UUID
    name: str
    role: Role
    prefix: str = Field(description="What the key begins with, after `sk-postroom-`.")
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    last_used_at: datetime | None = Field(description="A few minutes late at the most.")


class NewApiKey(Record):
    """A key that was just made. It is shown this once: the database keeps a digest only."""

    shown_once: ClassVar = ("key",)
    key_id: UUID
    org_id: UUID
    key: str


@KEYS.look("list", ADMINS, org="optional")
def list_keys(call: Call, window: Window) -> Page[ApiKeyView]:
    """List API keys, the newest first."""
    with call.reading() as tx:
        return window.records(tx, "list_api_keys", ApiKeyView, org_id=call.org_id)


@KEYS.look("show", ADMINS, org="optional")
def show_key(call: Call, key_id: UUID) -> ApiKeyView:
    """Show an API key, not what lets its holder in."""
    with call.reading() as tx:
        return ApiKeyView.model_validate(call.found(api_keys.get(tx, key_id), "such key"))


@KEYS.deed("create", ADMINS, events=("key.created",), org="required", ledger_audits=True)
def create_key(
    call: Call,
    *,
    role: Annotated[Role, Field(description="What the key may do; each role includes those before it.")],
    name: Annotated[str, Field(pattern=WORDS, max_length=LONGEST_NAME, description="What the key is for.")],
    expires_at: Annotated[
        Instant | None, Field(description="Good until this RFC 3339 time; without it, until it is revoked.")
    ] = None,
) -> NewApiKey:
    """Make a key. It is shown this once: keep it now."""
    made = make_key(secrets.token_bytes(NOISE))
    with call.writing() as tx:
        kept = api_keys.create(tx, call.org, made, KeyOptions(name, role, expires_at), by=call.origin)
    return NewApiKey(key_id=kept.key_id, org_id=kept.org_id, key=made.text)


@KEYS.deed("revoke", ADMINS, events=("key.revoked",), org="optional", ledger_audits=True)
def revoke_key(call: Call, key_id: UUID) -> ApiKeyView:
    """Let nobody in with a key any more, from its next request on."""
    with call.writing() as tx:
        return ApiKeyView.model_validate(api_keys.revoke(tx, key_id, org_id=call.org_id, by=call.origin))

"""`/v1/accounts/connect`: a service asks for the link by which the owner of a mailbox connects it."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType
from domain.payloads.mail_address import LONGEST_ADDRESS
from gateway.api.documents import takes
from gateway.api.reasons import read_body
from gateway.http.bodies import JsonBody
from gateway.http.callers import Operator
from gateway.http.problems import problems
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from storage.mail.accounts import consents
from storage.mail.accounts.consents import ConsentWish

router = APIRouter(prefix="/v1", tags=["mailboxes"])


class ConnectWish(BaseModel):
    """Which mailbox is to be connected."""

    model_config = ConfigDict(extra="forbid", strict=True)

    email: Annotated[
        str, Field(max_length=LONGEST_ADDRESS, description="The mailbox; its owner signs in to it, and to no other.")
    ]
    owner: Annotated[
        str | None, Field(max_length=LONGEST_ADDRESS, description="The owner's address; by default the mailbox's own.")
    ] = None
    deletes: Annotated[bool, Field(description="Also ask for the right to delete mail for good.")] = False


class ConnectLink(BaseModel):
    """A link for the owner's browser. It works once."""

    email: str
    link: str
    expires_at: datetime


@router.post(
    "/accounts/connect",
    status_code=201,
    responses=problems(401, 403, 408, 409, 413, 415, 422, 429, 503),
    operation_id="connect_account",
    openapi_extra=takes("ConnectWish"),
)
def connect_account(request: Request, caller: Operator, document: JsonBody) -> ConnectLink:
    """Make a link by which the owner of a mailbox connects it by browser, or connects it again.

    409 when the installation has no public address or no OAuth client.
    """
    if document is None:
        raise Invalid("email", "is missing")
    asked = read_body(ConnectWish, document)
    wish = ConsentWish.of(asked.email, asked.owner, deletes=asked.deletes)
    by = origin_of(request, str(caller.key_id), ActorType.API_KEY)
    with resources_of(request).database.ledger() as tx:
        link = consents.invite(tx, resources_of(request).settings, caller.org_id, wish, by=by)
    return ConnectLink(email=link.wish.email, link=link.address, expires_at=link.expires_at)

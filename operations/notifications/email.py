"""E-mail that services send: ordered here, sent by a job."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BeforeValidator, Field, ValidationError

from domain.jobs.contract import MOST_ATTEMPTS, Instant, first_problem
from domain.jobs.job import JsonObject
from domain.notifications.sender import EmailProvider
from domain.orgs.access.api_keys import Role
from domain.payloads.email import EmailOrder, SendPayload
from operations.call import Call
from operations.operation import Area, Record, Route
from operations.pages import Page, Window
from operations.planning.exchange.attached_files import check_attachments
from storage.notifications.email import orders
from storage.notifications.email.orders import OrderPosition, OrderState

EMAIL = Area("email", "Send mail by the org's sender, and see what became of it.")

Addresses = Annotated[
    list[str],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(description="One address or many, each `ada@example.org` or `Ada <ada@example.org>`."),
]
MoreAddresses = Annotated[
    list[str] | None,
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(description="As `to`."),
]


class EmailView(Record):
    """A mail, without its words: to how many people it goes, and what became of it."""

    plural: ClassVar = "emails"
    columns: ClassVar = ("order_id", "state", "recipients", "reference", "provider", "created_at", "ended_at")
    order_id: UUID
    org_id: UUID
    state: OrderState
    recipients: int | None = Field(description="Null where the order, which came by SQL, is none.")
    reference: str | None
    provider: EmailProvider | None = Field(description="Who sent it, or was about to.")
    provider_id: str | None
    message_id: str | None = Field(description="Its Message-ID, where the provider tells.")
    error: JsonObject | None
    created_at: datetime
    ended_at: datetime | None


@EMAIL.look("list", Route("GET", "/email"), org="required")
def list_email(call: Call, window: Window) -> Page[EmailView]:
    """List an org's mail, the newest first."""
    with call.reading() as tx:
        found = orders.listed(tx, call.org, after=window.after(OrderPosition), limit=window.rows)
    return window.page(found, EmailView.model_validate, lambda one: OrderPosition(one.created_at, one.order_id))


@EMAIL.look("show", Route("GET", "/email/{order_id}"))
def show_email(call: Call, order_id: UUID) -> EmailView:
    """Show what became of a mail."""
    with call.reading() as tx:
        return EmailView.model_validate(call.found(orders.get(tx, order_id), f"order {order_id}"))


@EMAIL.deed(
    "send",
    Route("POST", "/email", status=202),
    role=Role.WRITER,
    org="required",
    events=("email.ordered",),
    keyed=True,
)
def send_email(  # noqa: PLR0913 - one parameter per field
    call: Call,
    *,
    to: Addresses,
    subject: Annotated[str, Field(description="One line.")],
    text: Annotated[str | None, Field(description="The words as plain text.")] = None,
    html: Annotated[str | None, Field(description="The words as a page; at least one of both is needed.")] = None,
    cc: MoreAddresses = None,
    bcc: MoreAddresses = None,
    reply_to: MoreAddresses = None,
    headers: Annotated[JsonObject | None, Field(description="Of a closed list, such as `List-Unsubscribe`.")] = None,
    attachments: Annotated[
        list[UUID] | None, Field(description="Ids of artifacts, which are sent as files under their names.")
    ] = None,
    reference: Annotated[str | None, Field(description="What it is about for its service; lists show it.")] = None,
    max_retries: Annotated[
        int | None, Field(ge=0, lt=MOST_ATTEMPTS, description="How often sending is tried again; 3 without it.")
    ] = None,
    run_at: Annotated[Instant | None, Field(description="Not before this time.")] = None,
) -> EmailView:
    """Send a mail by a job. Where the org has no sender, or its credentials are refused, the mail waits."""
    words = {
        "to": to, "subject": subject, "text": text, "html": html, "cc": cc, "bcc": bcc, "reply_to": reply_to,
        "headers": headers, "attachments": attachments, "reference": reference,
    }  # fmt: skip
    order = _checked({name: value for name, value in words.items() if value is not None})
    attempts = None if max_retries is None else max_retries + 1
    with call.writing() as tx:

        def make() -> Sequence[UUID]:
            check_attachments(tx, call.org, [one.artifact_id for one in order.attachments], "attachments")
            order_id = orders.keep(tx, call.org, order)
            facts = {"order_id": str(order_id), "recipients": order.recipients, "reference": order.reference}
            call.audit(tx, call.org, facts)
            job = SendPayload(order_id=order_id)
            call.enqueue(tx, job, org_id=call.org, origin=call.origin, max_attempts=attempts, run_at=run_at)
            return [order_id]

        (order_id,) = call.once(tx, make)
        return EmailView.model_validate(orders.get(tx, order_id))


def _checked(words: JsonObject) -> EmailOrder:
    try:
        return EmailOrder.model_validate(words)
    except ValidationError as error:
        raise first_problem(error) from None

"""The payloads of the email family, and what a service says of a mail: refused by field before anything is stored."""

from collections.abc import Mapping
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from domain.jobs.contract import misfit, storable
from domain.jobs.uniqueness import for_ttl
from domain.payloads.declaration import KeptWords
from domain.payloads.mail_fields import MOST_FILES, FileName, HeaderText, MailboxText
from domain.payloads.payload import Payload

MOST_RECIPIENTS = 50
"""Resend takes so many (https://resend.com/docs/api-reference/emails/send-email). To more people a service sends more
mails: they would read each other's addresses."""
MOST_REPLY_ADDRESSES = 10
LONGEST_TEXT = 100_000
LONGEST_HTML = 200_000
"""Characters; a whole order must fit into what every entry point takes (`domain.jobs.contract.LARGEST_PAYLOAD`)."""
LONGEST_REFERENCE = 100

HEADERS: Mapping[str, str] = {
    name.casefold(): name
    for name in (
        "Auto-Submitted",
        "Feedback-ID",
        "In-Reply-To",
        "List-Id",
        "List-Unsubscribe",
        "List-Unsubscribe-Post",
        "References",
        "X-Auto-Response-Suppress",
        "X-Entity-Ref-ID",
        "X-Postroom-Automatic",
    )
}
"""The headers that an order may name (RFC 3834, 5322, 2919, 2369, 8058; the others say what belongs together). Every
other header is the provider's, or made of a field: a second From or Bcc would be read as another mail."""


def _one_or_many(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _known_headers(headers: dict[str, str]) -> dict[str, str]:
    """The headers under the names as they are written."""
    known: dict[str, str] = {}
    for name, value in headers.items():
        written = HEADERS.get(name.casefold())
        if written is None:
            raise misfit("headers", f"takes only {', '.join(HEADERS.values())}")
        if written in known:
            raise misfit(f"headers.{written}", "is given twice")
        if not value.strip() or not value.isascii():
            raise misfit(f"headers.{written}", "is empty, or has other letters than ASCII")
        known[written] = value
    return known


Text = Annotated[str, AfterValidator(storable)]
Mailboxes = Annotated[
    tuple[MailboxText, ...], BeforeValidator(_one_or_many), Field(examples=[("Ada Lovelace <ada@example.org>",)])
]


class EmailFile(BaseModel):
    """A file that goes with a mail: an artifact of the org, under its own name unless the order gives another."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    artifact_id: UUID
    filename: FileName | None = None


def _files(value: object) -> object:
    """An artifact's id may stand for the file."""
    if not isinstance(value, list | tuple):
        return value
    return tuple({"artifact_id": one} if isinstance(one, str | UUID) else one for one in value)


class EmailOrder(BaseModel):
    """One mail. A service gives this in the place of `email.send`'s payload; the words stand in a row from then on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    to: Mailboxes
    """One address or many, each `ada@example.org` or `Ada Lovelace <ada@example.org>`."""
    cc: Mailboxes = ()
    bcc: Mailboxes = ()
    reply_to: Mailboxes = ()
    subject: Annotated[HeaderText, StringConstraints(pattern=r"\S"), AfterValidator(storable)]
    text: Annotated[Text, StringConstraints(max_length=LONGEST_TEXT)] | None = None
    html: Annotated[Text, StringConstraints(max_length=LONGEST_HTML)] | None = None
    """Without `text`, the text is made of the page: a mail without one is taken for spam, and some people read text."""
    headers: Annotated[dict[str, HeaderText], AfterValidator(_known_headers)] = {}
    attachments: Annotated[tuple[EmailFile, ...], BeforeValidator(_files), Field(max_length=MOST_FILES)] = ()
    reference: Annotated[HeaderText, StringConstraints(min_length=1, max_length=LONGEST_REFERENCE)] | None = None
    """What the mail is about for its service, such as a ticket's number. Lists show it; several mails may have it."""

    @property
    def recipients(self) -> int:
        """How many addresses get the mail."""
        return len(self.to) + len(self.cc) + len(self.bcc)

    @model_validator(mode="after")
    def _reaches_somebody(self) -> Self:
        if not self.to:
            raise misfit("to", "names nobody")
        if self.recipients > MOST_RECIPIENTS:
            most = f"and a mail has at most {MOST_RECIPIENTS}"
            raise misfit("to", f"has with cc and bcc {self.recipients} addresses, {most}")
        if len(self.reply_to) > MOST_REPLY_ADDRESSES:
            raise misfit("reply_to", f"has more than {MOST_REPLY_ADDRESSES} addresses")
        return self

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.text or "").strip() and not (self.html or "").strip():
            raise misfit("text", "is empty, and so is html")
        return self

    def document(self) -> dict[str, object]:
        """The order as its row keeps it."""
        return self.model_dump(mode="json", exclude_defaults=True)


class SendPayload(
    Payload,
    job_type="email.send",
    aliases=("EMAIL_SEND",),
    unique=for_ttl("order_id"),
    words=KeptWords("order_id", EmailOrder),
):
    """Which mail is sent. A service gives the mail itself, `{to, subject, text, ...}`, in the place of the order."""

    order_id: UUID

"""What Resend's own description of its API says of the request and the answer that we use.

Source: https://github.com/resend/resend-openapi, version 1.5.0: `SendEmailRequest`, `Attachment`, `SendEmailResponse`.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Recipients = str | list[str]


class Described(BaseModel):
    """An object that has no field but those it names, each of exactly its type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Attachment(Described):
    """A file with its content; `path` would let Resend fetch it."""

    content: str | None = None
    filename: str | None = None
    path: str | None = None
    content_type: str | None = None
    content_id: str | None = None


class SendEmailRequest(Described):
    """The body of `POST /emails`."""

    sender: str = Field(alias="from")
    to: str | Annotated[list[str], Field(min_length=1, max_length=50)]
    subject: str
    bcc: Recipients = []
    cc: Recipients = []
    reply_to: Recipients = []
    html: str | None = None
    text: str | None = None
    headers: dict[str, str] = {}
    scheduled_at: str | None = None
    attachments: list[Attachment] = []
    topic_id: str | None = None


class SendEmailResponse(Described):
    """Its answer."""

    id: str

"""What Microsoft's types say of the requests that we make of Graph.

Source: `message`, `itemBody`, `recipient`, `internetMessageHeader`, `fileAttachment`, `attachmentItem` and
`singleValueLegacyExtendedProperty` of https://learn.microsoft.com/en-us/graph/api/resources/message and the pages that
it links, as `@microsoft/microsoft-graph-types` 2.43 declares them.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Described(BaseModel):
    """An object that has no field but those it names, each of exactly its type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EmailAddress(Described):
    """A mailbox."""

    address: str = Field(pattern=r"^[^@]+@[^@\s]+$|^\".*\"@[^@\s]+$")
    name: str | None = None


class Recipient(Described):
    """Wraps a mailbox."""

    emailAddress: EmailAddress  # noqa: N815 - Graph's name


class ItemBody(Described):
    """One body."""

    contentType: Literal["text", "html"]  # noqa: N815 - Graph's name
    content: str


class Header(Described):
    """A header that a draft may be given."""

    name: str = Field(pattern=r"^[xX]-")
    value: str


class Property(Described):
    """An extended property: its type, a namespace and a name."""

    id: str = Field(pattern=r"^String \{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\} Name \w+$")
    value: str


class FileAttachment(Described):
    """A file with its content."""

    kind: Literal["#microsoft.graph.fileAttachment"] = Field(alias="@odata.type")
    name: str = Field(min_length=1)
    contentType: str | None = None  # noqa: N815 - Graph's name
    contentBytes: str  # noqa: N815 - Graph's name
    contentId: str | None = None  # noqa: N815 - Graph's name
    isInline: bool = False  # noqa: N815 - Graph's name


class Message(Described):
    """The body of `POST /messages`."""

    subject: str
    body: ItemBody
    sender: Recipient = Field(alias="from")
    toRecipients: Annotated[list[Recipient], Field(min_length=1)]  # noqa: N815 - Graph's name
    ccRecipients: list[Recipient] = []  # noqa: N815 - Graph's name
    bccRecipients: list[Recipient] = []  # noqa: N815 - Graph's name
    replyTo: list[Recipient] = []  # noqa: N815 - Graph's name
    internetMessageHeaders: Annotated[list[Header], Field(max_length=5)] = []  # noqa: N815 - Graph's name
    attachments: list[FileAttachment] = []
    singleValueExtendedProperties: list[Property] = []  # noqa: N815 - Graph's name


class Mark(Described):
    """The body of `PATCH /messages/{id}`."""

    singleValueExtendedProperties: list[Property]  # noqa: N815 - Graph's name


class AttachmentItem(Described):
    """A file that is announced."""

    attachmentType: Literal["file"]  # noqa: N815 - Graph's name
    name: str
    size: int
    contentType: str | None = None  # noqa: N815 - Graph's name


class UploadSessionRequest(Described):
    """The body of `createUploadSession`."""

    AttachmentItem: AttachmentItem

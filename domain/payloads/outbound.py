"""The payloads of the outbound family."""

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from domain.jobs.contract import misfit
from domain.jobs.uniqueness import for_ttl
from domain.payloads.mail_fields import (
    LARGEST_ATTACHMENT,
    LARGEST_FILES,
    MOST_FILES,
    ContentType,
    FileContent,
    FileName,
    GmailId,
    HeaderText,
    MailboxText,
    MessageId,
    Sha256,
)
from domain.payloads.other_names import AccountId
from domain.payloads.payload import Payload

MOST_RECIPIENTS = 500
"""Gmail takes so many in one message (docs: gmail.md#sending)."""
LONGEST_BODY = 100_000
"""Characters of either body. Words and files share the bound that a payload has at every entry point."""

Recipients = Annotated[
    tuple[MailboxText, ...], Field(max_length=MOST_RECIPIENTS, examples=[("Ada Lovelace <ada@example.org>",)])
]
Body = Annotated[str, StringConstraints(max_length=LONGEST_BODY)]


def is_none(value: object) -> bool:
    """Whether a field is left out where it is written."""
    return value is None


class AttachmentField(BaseModel):
    """A file that goes with a mail: its content stands here, or in an artifact of the org, whose size and digest do.

    The seed names the content type `mime_type`, which is taken too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    filename: FileName
    content_type: ContentType = Field(
        validation_alias=AliasChoices("content_type", "mime_type"), examples=["application/pdf"]
    )
    data: FileContent | None = Field(None, examples=["JVBERi0xLjQK"], exclude_if=is_none)
    artifact_id: UUID | None = Field(None, exclude_if=is_none)
    size: Annotated[int, Field(ge=1, le=LARGEST_FILES)] | None = Field(None, exclude_if=is_none)
    sha256: Sha256 | None = Field(None, exclude_if=is_none)

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        of_artifact = (self.artifact_id, self.size, self.sha256)
        if self.data is None and None in of_artifact:
            raise misfit("data", "is missing, and so is the artifact: artifact_id with its size and sha256")
        if self.data is not None and of_artifact != (None, None, None):
            raise misfit("data", "is given, and so is an artifact: a file lies in one place")
        return self

    @property
    def bytes_here(self) -> int:
        """About how many bytes of content stand in the payload."""
        return len(self.data or "") * 3 // 4


A_FILE = {"filename": "plan.pdf", "content_type": "application/pdf", "data": "JVBERi0xLjQK"}


class SendPayload(
    Payload,
    job_type="outbound.send",
    unique=for_ttl("account_id", "action_id"),
):
    """One mail of an action: a reply, a forward or a new one. An action sends once, whatever its payload says.

    A reply and a forward name the message they are about. A forward takes that message's text and files from the
    mailbox when it is sent, so they never stand here.
    """

    account_id: AccountId
    action_id: UUID
    message_type: Literal["reply", "forward", "new"]
    to: Recipients = ()
    cc: Recipients = ()
    bcc: Recipients = ()
    subject: HeaderText = ""
    """May be left out of a reply and a forward: then it is the original's, with `Re:` or `Fwd:`."""
    body_plain: Body = ""
    body_html: Body = ""
    original_message_id: GmailId | None = None
    """Gmail's id of the message that is answered or forwarded."""
    thread_id: GmailId | None = None
    """Gmail's id of the thread that a reply goes into: that of its original, which is taken when this is left out."""
    references: Annotated[tuple[MessageId, ...], Field(max_length=100, examples=[("<question@example.org>",)])] = ()
    """RFC 5322 ids of the thread; those of the original are taken when this is left out."""
    attachments: Annotated[tuple[AttachmentField, ...], Field(max_length=MOST_FILES, examples=[(A_FILE,)])] = ()

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who gets the mail."""
        return (*self.to, *self.cc, *self.bcc)

    @model_validator(mode="after")
    def _reaches_somebody(self) -> Self:
        if not self.recipients:
            raise misfit("to", "names nobody, and neither does cc or bcc")
        if len(self.recipients) > MOST_RECIPIENTS:
            raise misfit("to", f"with cc and bcc more than {MOST_RECIPIENTS}, which is the most that Gmail takes")
        return self

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if self.message_type == "new":
            for name in ("original_message_id", "thread_id", "references"):
                if getattr(self, name):
                    raise misfit(name, "a new mail has none; a reply or a forward has")
        elif self.original_message_id is None:
            raise misfit("original_message_id", f"a {self.message_type} needs it")
        return self

    @model_validator(mode="after")
    def _says_something_of_a_bounded_size(self) -> Self:
        if self.message_type != "forward" and not (self.body_plain.strip() or self.body_html.strip()):
            raise misfit("body_plain", "is empty, and so is body_html")
        size = sum(one.bytes_here for one in self.attachments)
        if size > LARGEST_ATTACHMENT:
            raise misfit(
                "attachments",
                f"have about {size} bytes together; a payload carries at most {LARGEST_ATTACHMENT}."
                " Store larger files as artifacts, and name those",
            )
        together = size + sum(one.size or 0 for one in self.attachments)
        if together > LARGEST_FILES:
            raise misfit("attachments", f"have {together} bytes together; a mail has at most {LARGEST_FILES}")
        return self

"""One mailbox of Exchange Online as Graph shows it: drafts, and Sent Items that come late and under another id."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sandbox.emulator.exchange import ApiFailure, Json
from sandbox.emulator.written_mail import WrittenFile, WrittenMail

DRAFTS, SENT = "drafts", "sentitems"


@dataclass(slots=True)
class Knobs:
    """How this mailbox behaves."""

    sent_after_s: float = 0.0
    """How long a mail that was sent is nowhere."""
    ids_change: bool = True
    """Whether the id of a draft changes at the send, in its last four characters."""
    keeps_message_id: bool = True
    """Whether a draft from MIME keeps the Message-ID that it came with."""
    file_overhead: int = 237
    """Bytes that Exchange counts beside those of a file."""
    largest_message: int = 36_700_160
    """The mailbox's own maximum, 35 MB, which is less than the API's."""
    upload_per_30_s: int | None = None
    """Bytes of uploads; Graph's own limit is 15 Mbit."""
    concurrency: int = 4
    forbidden: bool = False
    """Whether the application may not use this mailbox any more."""


@dataclass(slots=True)
class Message:
    """A draft or a mail that was sent."""

    message_id: str
    mail: WrittenMail
    folder: str = DRAFTS
    properties: dict[str, str] = field(default_factory=dict)
    file_ids: list[str] = field(default_factory=list)
    visible_at: float = 0.0

    @property
    def is_draft(self) -> bool:
        """Whether it was not sent."""
        return self.folder == DRAFTS

    def as_json(self) -> Json:
        """As Graph shows it, without `$select`."""
        return {
            "id": self.message_id,
            "isDraft": self.is_draft,
            "internetMessageId": self.mail.message_id,
            "subject": self.mail.subject,
            "hasAttachments": bool(self.mail.files),
        }


class Mailbox:
    """The messages of one user; the service holds a lock around each call."""

    def __init__(self, address: str) -> None:
        """Empty. Its ids look as if by chance, and are the same for the same calls: two runs can be compared."""
        self.address = address
        self._chance = Random(address)  # noqa: S311  # repeatable, not a secret
        self.knobs = Knobs()
        self.messages: list[Message] = []
        self.in_flight = 0

    def create(self, mail: WrittenMail, properties: Mapping[str, str], *, is_mime: bool) -> Message:
        """A draft; Exchange gives it an id, and a Message-ID unless it keeps the one of the MIME."""
        if not (is_mime and self.knobs.keeps_message_id and mail.message_id):
            mail.message_id = f"<{self._chance.randbytes(12).hex()}@prod.outlook.example.com>"
        made = Message(f"AAMk{self._word(60)}AAA=", mail, properties=dict(properties))
        made.file_ids = [self._word(20) for _ in mail.files]
        self._check_size(made)
        self.messages.append(made)
        return made

    def find(self, message_id: str, now: float) -> Message:
        """A message that can be seen."""
        for one in self.visible(now):
            if one.message_id == message_id:
                return one
        raise ApiFailure(404, "ErrorItemNotFound", "The specified object was not found in the store.")

    def draft(self, message_id: str, now: float) -> Message:
        """A draft that can be changed."""
        found = self.find(message_id, now)
        if not found.is_draft:
            raise ApiFailure(400, "ErrorInvalidOperation", "The operation can only be performed on a draft.")
        return found

    def visible(self, now: float) -> list[Message]:
        """All but what is on its way."""
        return [one for one in self.messages if one.visible_at <= now]

    def attach(self, message: Message, file: WrittenFile) -> str:
        """Add a file; returns the attachment's id."""
        message.mail.files.append(file)
        message.file_ids.append(self._word(20))
        try:
            self._check_size(message)
        except ApiFailure:
            message.mail.files.pop()
            message.file_ids.pop()
            raise
        return message.file_ids[-1]

    def need_room(self, message: Message, size: int) -> None:
        """Refuse a file that would make the message larger than this mailbox takes."""
        if message.mail.size + size > self.knobs.largest_message:
            raise ApiFailure(413, "ErrorMessageSizeExceeded", "The message exceeds the maximum supported size.")

    def send(self, message: Message, now: float) -> None:
        """Take the draft; it comes to Sent Items after a while, perhaps under another id."""
        self._check_size(message)
        message.folder = SENT
        message.visible_at = now + self.knobs.sent_after_s
        if self.knobs.ids_change:
            message.message_id = f"{message.message_id[:-5]}{self._word(4)}="

    def files_of(self, message: Message) -> list[Json]:
        """The attachments as Graph lists them."""
        return [
            {
                "@odata.type": "#microsoft.graph.fileAttachment",
                "id": file_id,
                "name": one.name,
                "contentType": one.content_type,
                "size": len(one.data) + self.knobs.file_overhead,
            }
            for file_id, one in zip(message.file_ids, message.mail.files, strict=True)
        ]

    def state(self) -> Json:
        """Everything, for tests: what is on its way, too."""
        messages: list[dict[str, Any]] = [
            {**one.as_json(), "properties": dict(one.properties), "mail": one.mail.as_json()} for one in self.messages
        ]
        return {"address": self.address, "messages": messages}

    def _check_size(self, message: Message) -> None:
        self.need_room(message, 0)

    def _word(self, length: int) -> str:
        return base64.urlsafe_b64encode(self._chance.randbytes(length)).decode().replace("=", "")[:length]

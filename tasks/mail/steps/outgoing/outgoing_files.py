"""The files that go with a mail: those of its payload, and those of the message that is forwarded."""

import base64

from domain.jobs.failures import Invalid
from domain.mail.outgoing.outgoing_mail import LARGEST_MESSAGE, AttachmentBody
from domain.payloads.outbound import AttachmentField, SendPayload
from engine.context import JobContext
from providers.ports import Mailbox
from tasks.planning.files.artifact_files import find_file, read_file

MOST_FILES = 50
"""Files of a forwarded message: each is a call, and together they stay within a minute's quota."""

CHECK_EVERY = 10
"""Files between two looks at whether the job may go on."""


def of_order(ctx: JobContext, order: SendPayload) -> list[AttachmentBody]:
    """The files of an order: what the payload carries, and what lies in artifacts."""
    return [
        AttachmentBody(one.filename, one.content_type, _content(ctx, one, f"payload.attachments.{place}"))
        for place, one in enumerate(order.attachments)
    ]


def _content(ctx: JobContext, file: AttachmentField, field: str) -> bytes:
    if file.artifact_id is None:
        return base64.b64decode(file.data or "")
    found = find_file(ctx, file.artifact_id, f"{field}.artifact_id")
    if found.sha256 != file.sha256:
        raise Invalid(f"{field}.sha256", "is not the artifact's: another file was approved")
    return read_file(ctx, found)


def of_original(ctx: JobContext, mailbox: Mailbox, message_id: str) -> list[AttachmentBody]:
    """Fetch the files of a message; raises `Gone` without it, and `Invalid` when Gmail would not take them again."""
    parts = mailbox.attachments(message_id)
    if len(parts) > MOST_FILES:
        raise Invalid("payload.original_message_id", f"has {len(parts)} files; at most {MOST_FILES} are forwarded")
    size = sum(part.size for part in parts)
    if size * 4 // 3 > LARGEST_MESSAGE:
        raise Invalid(
            "payload.original_message_id",
            f"has files of {size} bytes; with its encoding Gmail takes messages of at most {LARGEST_MESSAGE} bytes",
        )
    files = []
    for place, part in enumerate(parts, start=1):
        if place % CHECK_EVERY == 0:
            ctx.check()
        files.append(AttachmentBody(part.filename, part.content_type, mailbox.attachment(message_id, part)))
    return files

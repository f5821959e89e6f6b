"""Reads the files that go with an order's mail: artifacts of the org, hashed again before they leave."""

from domain.jobs.failures import Invalid
from domain.payloads.email import EmailOrder
from domain.payloads.mail_fields import LARGEST_FILES
from engine.context import JobContext
from providers.ports.email import EmailAttachment
from tasks.exchange.artifact_files import find_file, read_file


def read_files(ctx: JobContext, order: EmailOrder) -> tuple[EmailAttachment, ...]:
    """The files; raises `Gone` by the field of one that was deleted meanwhile, `Invalid` for too many bytes."""
    found = [
        find_file(ctx, one.artifact_id, f"email.attachments.{place}.artifact_id")
        for place, one in enumerate(order.attachments)
    ]
    size = sum(one.size for one in found)
    if size > LARGEST_FILES:
        raise Invalid("email.attachments", f"have {size} bytes together; a mail has at most {LARGEST_FILES}")
    return tuple(
        EmailAttachment(asked.filename or one.name, one.media_type, read_file(ctx, one))
        for asked, one in zip(order.attachments, found, strict=True)
    )

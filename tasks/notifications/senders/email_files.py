"""The files that go with an order's mail: artifacts of the org, read and hashed again where their bytes are needed."""

from functools import cache, partial
from uuid import UUID

from domain.jobs.failures import Gone, Invalid
from domain.payloads.email import EmailOrder
from domain.payloads.mail_fields import LARGEST_FILES
from engine.context import JobContext
from providers.ports.email import EmailAttachment
from storage.planning import artifacts
from tasks.planning.files.artifact_files import find_file, no_such_file, read_file

FILE_LOST = frozenset({Gone.code, "artifacts.altered"})
"""The codes of a file that can never be read again: it was deleted, or its bytes are others."""


def files_of(ctx: JobContext, order: EmailOrder) -> tuple[EmailAttachment, ...]:
    """The files, of which nothing is read yet: `read` raises `Permanent` by a code of `FILE_LOST`.

    Raises `Invalid` for too many bytes, and `Gone` by the field of a file that never was.
    """
    fields = {f"email.attachments.{place}.artifact_id": one for place, one in enumerate(order.attachments)}
    with ctx.read() as tx:
        found = {field: artifacts.find(tx, one.artifact_id) for field, one in fields.items()}
    size = sum(one.size for one in found.values() if one is not None)
    if size > LARGEST_FILES:
        raise Invalid("email.attachments", f"have {size} bytes together; a mail has at most {LARGEST_FILES}")
    files = []
    for field, asked in fields.items():
        known = found[field]
        if known is None:
            raise no_such_file(asked.artifact_id, field)
        read = cache(partial(_read, ctx, asked.artifact_id, field))
        files.append(EmailAttachment(asked.filename or known.name, known.media_type, known.size, read))
    return tuple(files)


def _read(ctx: JobContext, artifact_id: UUID, field: str) -> bytes:
    return read_file(ctx, find_file(ctx, artifact_id, field))

"""Files that go with a mail and lie in artifacts: found where the mail is ordered, so that its caller learns of faults.

The job that sends looks again, and hashes what it reads.
"""

from collections.abc import Sequence
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.mail.actions.action_files import AskedArtifact, AskedFile
from domain.payloads.mail_fields import LARGEST_FILES
from domain.payloads.outbound import AttachmentField
from storage.planning import artifacts
from storage.postgres.database import Transaction


def attached_files(
    tx: Transaction, org_id: UUID, asked: Sequence[AskedFile], field: str
) -> tuple[AttachmentField, ...]:
    """The files with the facts of their artifacts; raises `Invalid` with the field, alike for another org's."""
    return tuple(
        _attached(tx, org_id, one, f"{field}.{place}") if isinstance(one, AskedArtifact) else one
        for place, one in enumerate(asked)
    )


def check_attachments(tx: Transaction, org_id: UUID, artifact_ids: Sequence[UUID], field: str) -> None:
    """Raise `Invalid` for artifacts that a mail cannot take, one by one or together."""
    asked = [AskedArtifact(artifact_id=one) for one in artifact_ids]
    size = sum(one.size or 0 for one in attached_files(tx, org_id, asked, field))
    if size > LARGEST_FILES:
        raise Invalid(field, f"have {size} bytes together; a mail has at most {LARGEST_FILES}")


def _attached(tx: Transaction, org_id: UUID, asked: AskedArtifact, field: str) -> AttachmentField:
    found = artifacts.find(tx, asked.artifact_id)
    if found is None or found.org_id != org_id:
        raise Invalid(f"{field}.artifact_id", "names no artifact of the org")
    if not found.is_ready:
        raise Invalid(f"{field}.artifact_id", "names an artifact that was deleted, or whose time is over")
    try:
        return asked.attached(found.name, found.media_type, found.size, found.sha256)
    except Invalid as refusal:
        raise Invalid(f"{field}.{refusal.field}", refusal.reason.partition(": ")[2]) from None

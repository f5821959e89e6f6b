"""What is remembered of a draft that we made: hashes of its words and of its envelope, by which an edit is seen.

Written as `<words>.<envelope>`. A draft whose words the job never had has no envelope. Once it is reworked,
only its words are compared.
"""

import hashlib

from domain.mail.outgoing.header_lines import header_text
from domain.mail.parsing.limits import LONGEST_SUBJECT
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.replies.drafting import fingerprint, was_edited
from domain.mail.replies.replies import MessageHead

UNKNOWN = "unknown"
"""Of a draft whose words the job never had: equal to none, so they count as a person's."""


def of_made(body: str, envelope: MessageHead) -> str:
    """The fingerprint of a draft with these words and this envelope."""
    return f"{fingerprint(body)}.{_of_envelope(envelope)}"


def of_rework(body: str, old: str) -> str:
    """The fingerprint of a draft that got other words; what its person changed in the envelope stays an edit."""
    envelope = old.partition(".")[2]
    return f"{fingerprint(body)}.{envelope}" if envelope else fingerprint(body)


def words_of(made: str) -> str:
    """The fingerprint of the words alone."""
    return made.partition(".")[0]


def is_untouched(draft: ParsedMessage, made: str) -> bool:
    """Whether a draft is still what the machine made: its words, subject and recipients, and nothing attached."""
    if draft.attachments or was_edited(draft.text, words_of(made)):
        return False
    envelope = made.partition(".")[2]
    if not envelope or draft.from_ is None:
        return not envelope
    return _of_envelope(MessageHead.of_draft(draft, draft.from_)) == envelope


def _of_envelope(envelope: MessageHead) -> str:
    """Without names and order, which mailers change, and without the sender, which Gmail corrects.

    Of a subject as much as is read back of a draft.
    """
    subject = header_text(envelope.subject)[:LONGEST_SUBJECT]
    lists = ([one.key for one in addresses] for addresses in (envelope.to, envelope.cc, envelope.bcc))
    parts = [subject, *(" ".join(sorted(keys)) for keys in lists)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()

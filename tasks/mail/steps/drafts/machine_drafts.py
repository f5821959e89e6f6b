"""Reads the drafts that we made: whether they are still there, whose words they hold, what is asked of them."""

from dataclasses import dataclass

from domain.jobs.effects import Finding, Found, NotFound
from domain.jobs.failures import Gone, Permanent, Transient
from domain.jobs.job import JsonObject
from domain.mail.mailbox import Draft
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.replies.draft_fingerprint import is_untouched
from domain.mail.replies.instruction import Instruction, instruction_of
from domain.mail.replies.lost_draft import shows_token
from domain.mail.thread_plan import DraftStanding
from providers.ports import Mailbox
from storage.mail.emails import MadeDraft
from tasks.mail.steps.drafts.lost_drafts import described, facts_of


def standing(mailbox: Mailbox, made: MadeDraft) -> DraftStanding:
    """Whether a draft is still in the mailbox, and whose words are in it."""
    read = _read(mailbox, made.draft_id)
    if read is None:
        return DraftStanding.NONE
    return DraftStanding.UNTOUCHED if is_untouched(read[1], made.fingerprint) else DraftStanding.EDITED


@dataclass(frozen=True, slots=True)
class ReworkRequest:
    """A draft as it stands in the mailbox, and what its person asks of it; None where their own text is in it."""

    draft: Draft
    message: ParsedMessage
    instruction: Instruction | None

    @property
    def standing(self) -> DraftStanding:
        """Whose words are in the draft."""
        if self.instruction is None:
            return DraftStanding.EDITED
        return DraftStanding.INSTRUCTED if self.instruction.text else DraftStanding.UNTOUCHED


def request(mailbox: Mailbox, made: MadeDraft) -> ReworkRequest | None:
    """Read what a person asks of a draft; None when it is no longer there."""
    read = _read(mailbox, made.draft_id)
    return None if read is None else ReworkRequest(*read, instruction_of(read[1], made.fingerprint))


def find_rewritten(mailbox: Mailbox, draft_id: str, token: str, old_message_id: str | None) -> Finding:
    """Find out whether a draft was replaced by the one with this token.

    The draft's id stays, so it is there under this id or it is gone, sent or thrown away. A draft with another message
    and without the token was edited by its person, before the call or after it: its words are a person's either way.
    """
    draft = _living(mailbox, draft_id)
    if draft is None:
        return Found({"gone": True})
    if shows_token(facts_of(mailbox, draft.message_id), token):
        return Found(described(draft))
    return NotFound() if draft.message_id == old_message_id else Found(described(draft) | {"composed": True})


def rewrite(mailbox: Mailbox, draft: Draft, raw: bytes) -> JsonObject:
    """Replace a draft in its thread, if it is still as it was read.

    Else `gone` when its person has sent or deleted it, and `touched` with its message when they have edited it.
    """
    now = _living(mailbox, draft.draft_id)
    if now is None:
        return {"gone": True}
    if now.message_id != draft.message_id:
        return {"touched": now.message_id}
    try:
        return described(mailbox.update_draft(draft.draft_id, raw, thread_id=draft.thread_id))
    except Permanent:
        if _living(mailbox, draft.draft_id) is not None:
            raise
        return {"gone": True}


def _living(mailbox: Mailbox, draft_id: str) -> Draft | None:
    try:
        draft = mailbox.draft(draft_id)
    except Gone:
        return None
    return draft if draft.is_draft else None


def _read(mailbox: Mailbox, draft_id: str) -> tuple[Draft, ParsedMessage] | None:
    draft = _living(mailbox, draft_id)
    if draft is None:
        return None
    try:
        return draft, parse_message(mailbox.message(draft.message_id).raw)
    except Gone:
        raise Transient("a draft changed while it was read", code="draft.changed") from None

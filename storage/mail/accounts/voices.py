"""How owners write: one description per account."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Invalid
from domain.mail.replies.voice import Voice, accept_voice
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class KeptVoice:
    """A description, from how many messages it was made, and when. `voice` is None for one that is not understood."""

    voice: Voice | None
    sampled: int
    learned_at: datetime


def save(tx: Transaction, account_id: UUID, voice: Voice, *, sampled: int) -> None:
    """Keep a description in place of an earlier one."""
    tx.run("save_voice", account_id=account_id, voice=Jsonb(voice.model_dump()), sampled=sampled)


def find(tx: Transaction, account_id: UUID) -> KeptVoice | None:
    """The description of an account's owner; None when there is none."""
    rows = tx.run("find_voice", account_id=account_id)
    if not rows:
        return None
    try:
        voice = accept_voice(rows[0].voice)
    except Invalid:
        # Of another release: a draft does without, until the voice is learned anew.
        voice = None
    return KeptVoice(voice, rows[0].sampled, rows[0].learned_at)

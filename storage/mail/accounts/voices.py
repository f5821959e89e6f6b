"""How owners write: one description per account."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Invalid
from domain.mail.replies.voice import Voice, accept_voice
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked, first_or_none


@dataclass(frozen=True, slots=True)
class KeptVoice:
    """A description, from how many messages it was made, and when. `voice` is None for one that is not understood."""

    voice: Voice | None
    sampled: int
    learned_at: datetime


def save(tx: Transaction, account_id: UUID, voice: Voice, *, sampled: int) -> None:
    """Keep a description in place of an earlier one."""
    tx.run("save_voice", account_id=account_id, voice=Jsonb(voice.model_dump()), sampled=sampled)


def find(tx: Transaction, account_id: UUID) -> Asked[KeptVoice | None]:
    """The description of an account's owner; None when there is none."""
    return tx.ask("find_voice", first_or_none(_kept), account_id=account_id)


def _kept(row: Row) -> KeptVoice:
    try:
        voice = accept_voice(row.voice)
    except Invalid:
        # Of another release: a draft does without, until the voice is learned anew.
        voice = None
    return KeptVoice(voice, row.sampled, row.learned_at)

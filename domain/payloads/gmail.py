"""The payloads of the Gmail family."""

import re
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, WithJsonSchema

from domain.jobs.contract import Instant
from domain.jobs.uniqueness import while_active, while_queued
from domain.payloads.mail_fields import GmailId
from domain.payloads.other_names import AccountId
from domain.payloads.payload import Payload
from domain.payloads.shape import DIGITS, LARGEST_DIGITS


def read_digits(value: object) -> object:
    """The number of a text of digits; anything else as it is, for the field's type to judge."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}", value) else value


HistoryId = Annotated[
    int,
    BeforeValidator(read_digits),
    Field(ge=0, le=LARGEST_DIGITS),  # a number that no mailbox will ever reach would be awaited
    WithJsonSchema({"anyOf": DIGITS}),
]
"""Gmail writes its 64-bit numbers as text in some answers and as numbers in others; services hand on either."""


class SyncPayload(
    Payload,
    job_type="gmail.sync",
    aliases=("sync", "history.sync.gmail"),
    unique=while_queued("account_id", "force_full"),
    serial_by="account_id",
):
    """Which mailbox, and what made us look; `history_id` is the push's, never a starting point."""

    account_id: AccountId
    history_id: HistoryId | None = None
    force_full: bool = False
    reason: Literal["push", "fallback", "full", "connected", "admin"] = "admin"


class IngestPayload(
    Payload,
    job_type="gmail.ingest",
    aliases=("ingest.gmail",),
    unique=while_active("account_id", "message_id"),
):
    """One message of one mailbox; the message itself says which thread it belongs to."""

    account_id: AccountId
    message_id: GmailId
    thread_id: GmailId | None = None


class SyncLabelsPayload(
    Payload,
    job_type="gmail.sync_labels",
    aliases=("labels.sync.gmail",),
    unique=while_queued("account_id"),
):
    """One mailbox."""

    account_id: AccountId


class RenewWatchPayload(Payload, job_type="gmail.renew_watch", unique=while_queued("account_id")):
    """One mailbox."""

    account_id: AccountId


MOST_BACKFILLED = 100_000
"""Messages of one backfill: at 100 a minute it takes 17 hours."""
MOST_AT_ONCE = 20
"""Messages of one batch: they take a minute at most, and one that fails repeats few."""
LONGEST_QUERY = 500
"""Characters of a search."""


class BackfillPayload(
    Payload,
    job_type="gmail.backfill",
    aliases=("backfill.gmail",),
    unique=while_active("account_id", "query", "since", "until"),
    serial_by="account_id",
):
    """Which older mail of a mailbox is to be taken in. It is not classified unless `classify` says so."""

    account_id: AccountId
    query: Annotated[str, Field(max_length=LONGEST_QUERY)] = ""
    """Gmail's search words, as in its search field."""
    since: Annotated[Instant | None, Field(examples=["2026-01-01T00:00:00Z"])] = None
    until: Annotated[Instant | None, Field(examples=["2026-11-01T00:00:00Z"])] = None
    """Nothing later than the job's first attempt, in any case: newer mail is history's to report."""
    classify: bool = False
    most: Annotated[int, Field(ge=1, le=MOST_BACKFILLED)] = MOST_BACKFILLED


class BackfillMessagesPayload(
    Payload,
    job_type="gmail.backfill_messages",
    serial_by="account_id",
):
    """Some messages of a backfill; `gmail.backfill` makes these jobs."""

    account_id: AccountId
    backfill_id: UUID
    message_ids: Annotated[list[GmailId], Field(min_length=1, max_length=MOST_AT_ONCE)]

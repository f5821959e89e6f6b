"""The payloads of the threads family."""

from typing import Literal, Self
from uuid import UUID

from pydantic import model_validator

from domain.jobs.job import JsonObject
from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload


def _thread_or_record(document: JsonObject) -> JsonObject:
    """Version 2 takes a record or a message in place of the thread; what version 1 says is said the same way."""
    return document


class CleanupPayload(
    Payload,
    job_type="threads.cleanup",
    aliases=("cleanup",),
    version=2,
    upcasts={1: _thread_or_record},
    unique=while_queued("account_id", "thread_id", "email_id", "message_id", "action"),
):
    """Which thread, and why it is looked at."""

    account_id: UUID
    thread_id: str | None = None
    email_id: UUID | None = None
    """The record of the thread, for callers who know that only."""
    message_id: str | None = None
    """A message of the thread, or of the draft in it: what a deletion in Gmail's history names."""
    action: Literal["done", "check_sent"]
    draft_thread_id: str | None = None
    """Where the draft was last seen, when a person's edit of its subject has moved it to another thread."""

    @model_validator(mode="after")
    def _name_a_thread(self) -> Self:
        if self.thread_id is None and self.email_id is None and self.message_id is None:
            raise ValueError("thread_id, email_id or message_id must be given")
        return self

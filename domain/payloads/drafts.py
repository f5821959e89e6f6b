"""The payloads of the drafts family."""

from typing import Self
from uuid import UUID

from pydantic import model_validator

from domain.jobs.job import JsonObject
from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload

WHICH = ("account_id", "thread_id", "email_id")


class ThreadPayload(Payload):
    """Which thread, by its own id or by that of its record."""

    account_id: UUID
    thread_id: str | None = None
    email_id: UUID | None = None

    @model_validator(mode="after")
    def _names_a_thread(self) -> Self:
        if self.thread_id is None and self.email_id is None:
            raise ValueError("thread_id or email_id must be given")
        return self


def _thread_or_record(document: JsonObject) -> JsonObject:
    """Version 2 takes the record's id in place of the thread's; what version 1 says is said the same way."""
    return document


class WritePayload(
    ThreadPayload,
    job_type="drafts.write",
    aliases=("draft",),
    version=2,
    upcasts={1: _thread_or_record},
    unique=while_queued(*WHICH),
    serial_by="thread_id",
):
    """A thread that waits for an answer, and the message that asked for one."""

    message_id: str | None = None


class WriteManualPayload(
    ThreadPayload,
    job_type="drafts.write_manual",
    aliases=("manual_draft",),
    unique=while_queued(*WHICH),
    serial_by="thread_id",
):
    """A thread whose person asks for a draft by hand."""


class ReworkPayload(
    ThreadPayload,
    job_type="drafts.rework",
    aliases=("rework",),
    unique=while_queued(*WHICH),
    serial_by="thread_id",
):
    """A thread whose person asks for another draft."""

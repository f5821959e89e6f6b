"""Looks up what other names in a payload stand for, among the rows of the job's org, before the job is enqueued.

Unique keys, concurrency keys and gates are made of the fields, so every entry point of Python's calls this first. Words
that a payload may not carry go into a row here; in a transaction that only reads they are checked, and no row is made.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import BaseModel

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, NewJob
from domain.payloads.other_names import LookUp, read_uuid
from domain.payloads.payload import Payload, payload_types
from storage.postgres.database import Transaction

TO_BE_MADE = str(UUID(int=0))
"""In the place of the id of a row that a look does not make: no row has it."""
Whose = tuple[UUID, UUID | None]
"""The org and the project of a job."""


class AskedName(NamedTuple):
    """One name that is looked up."""

    org_id: UUID
    account_id: UUID | None
    field: str
    """Whose value is looked up."""
    name: str
    """The name that was given."""
    given: str
    own: str | None
    """What the payload says under the field's own name."""

    def refused(self, reason: str) -> Invalid:
        """The refusal of the name that was given."""
        return Invalid(f"payload.{self.name}", reason)


def is_whole(job: NewJob) -> bool:
    """Whether nothing in a job's payload is to be looked up; raises `Invalid`."""
    payload_type = None if job.is_checked else payload_types.find(job.job_type)
    return payload_type is None or payload_type.renamed(job.payload).is_whole


def takes_words(job: NewJob) -> bool:
    """Whether a row is to take in words of a job's payload; raises `Invalid`."""
    payload_type = None if job.is_checked else payload_types.find(job.job_type)
    return payload_type is not None and payload_type.renamed(job.payload).words is not None


def resolve_job(tx: Transaction, job: NewJob) -> NewJob:
    """The job with its payload as its class writes it, where names were to be looked up; raises `Invalid`."""
    payload_type = payload_types.find(job.job_type)
    if payload_type is None or is_whole(job):
        return job
    key = job.idempotency_key or (str(job.job_id) if job.job_id else None)
    document = resolve(tx, payload_type, job.payload, org_id=job.org_id, project_id=job.project_id, key=key)
    accepted = payload_type.accept(document, job.payload_version)
    return job._replace(payload=accepted.payload, payload_version=accepted.version, is_checked=accepted.is_checked)


def resolve(
    tx: Transaction,
    payload_type: type[Payload],
    document: JsonObject,
    *,
    org_id: UUID,
    project_id: UUID | None = None,
    key: str | None = None,
) -> JsonObject:
    """The document under the fields' own names; raises `Invalid` with the name that was given and the reason.

    The same words under the same idempotency key are one row: a request that comes again makes no other. A transaction
    that only reads makes none: `TO_BE_MADE` is in the place of its id.
    """
    renamed = payload_type.renamed(document)
    payload = dict(renamed.payload)
    if renamed.words is not None:
        field, said = renamed.words
        payload[field] = KEEPERS[payload_type.declaration.job_type](tx, (org_id, project_id), said, key)
    for field, other, given in renamed.unresolved:
        own = payload.get(field)
        if isinstance(own, str | None):  # the payload's class refuses what is neither
            account_id = read_uuid(payload.get("account_id"))
            payload[field] = LOOK_UPS[other.look_up](tx, AskedName(org_id, account_id, field, other.name, given, own))
    return payload


def _account_of_user(tx: Transaction, asked: AskedName) -> str:
    own = read_uuid(asked.own)
    is_id = asked.own is None or own is not None
    rows = tx.run("mailboxes_of_user", org_id=asked.org_id, given=asked.given, own=own) if is_id else ()
    if not rows and asked.own is not None:
        raise asked.refused("names a user who has another mailbox than account_id names")
    if not rows:
        raise asked.refused("names no user of the org who has a connected mailbox")
    if len(rows) > 1:
        raise asked.refused("names a user who has several connected mailboxes: give account_id")
    return str(rows[0].id)


def _mailbox_of_user(tx: Transaction, asked: AskedName) -> str | None:
    has_none = asked.own is None and tx.run("is_user_without_mailbox", org_id=asked.org_id, given=asked.given)
    return None if has_none else _account_of_user(tx, asked)


def _thread_of_email(tx: Transaction, asked: AskedName) -> str:
    return _same(asked, _email(tx, asked)[0])


def _message_of_email(tx: Transaction, asked: AskedName) -> str:
    """A caller may mean another message of the thread than the one that asked first."""
    message_id = _email(tx, asked)[1]
    return message_id if asked.own is None else asked.own


def _email(tx: Transaction, asked: AskedName) -> tuple[str, str]:
    rows = tx.run("thread_and_message_of_email", org_id=asked.org_id, account_id=asked.account_id, given=asked.given)
    if not rows:
        raise asked.refused("names no e-mail of the account")
    return rows[0].thread_id, rows[0].message_id


def _thread_of_message(tx: Transaction, asked: AskedName) -> str:
    rows = tx.run("thread_of_message", org_id=asked.org_id, account_id=asked.account_id, given=asked.given)
    if not rows:
        raise asked.refused("names no message of the account whose thread is known")
    return _same(asked, rows[0].thread_id)


def _message_of_thread(tx: Transaction, asked: AskedName) -> str:
    """A message that is not stored yet says its thread when the job fetches it."""
    look = {"org_id": asked.org_id, "account_id": asked.account_id}
    if asked.own is None:
        rows = tx.run("newest_message_of_thread", **look, given=asked.given)
        if not rows:
            raise asked.refused("names no thread of the account in which a message has come in")
        return str(rows[0].message_id)
    rows = tx.run("thread_of_message", **look, given=asked.own)
    if rows and rows[0].thread_id != asked.given:
        raise asked.refused("names another thread than the one of message_id")
    return asked.own


def _same(asked: AskedName, found: str) -> str:
    if asked.own is not None and asked.own != found:
        raise asked.refused(f"stands for another {asked.field} than the payload names")
    return found


def _email_order(tx: Transaction, whose: Whose, said: BaseModel, key: str | None) -> str:
    org_id, project_id = whose
    document = said.model_dump(mode="json", exclude_defaults=True)
    order_id: UUID | None = None
    if not tx.is_reading:
        order_id = tx.run("keep_email_order", org_id=org_id, words=Jsonb(document), key=key)[0].order_id
    if asked := [one["artifact_id"] for one in document.get("attachments", ())]:
        facts = {"org_id": org_id, "order_id": order_id, "project_id": project_id}
        for row in tx.run("find_unreadable_file", **facts, artifact_ids=asked):
            raise Invalid(f"payload.attachments.{row.place - 1}.artifact_id", "names no file that the job may read")
    return TO_BE_MADE if order_id is None else str(order_id)


KEEPERS: Mapping[str, Callable[[Transaction, Whose, BaseModel, str | None], str]] = {"email.send": _email_order}
"""By job type: what checks and keeps the words of a job, and returns the id of their row; raises `Invalid`."""

LOOK_UPS: Mapping[LookUp | None, Callable[[Transaction, AskedName], str | None]] = {
    LookUp.ACCOUNT_OF_USER: _account_of_user,
    LookUp.MAILBOX_OF_USER: _mailbox_of_user,
    LookUp.THREAD_OF_EMAIL: _thread_of_email,
    LookUp.MESSAGE_OF_EMAIL: _message_of_email,
    LookUp.THREAD_OF_MESSAGE: _thread_of_message,
    LookUp.MESSAGE_OF_THREAD: _message_of_thread,
}

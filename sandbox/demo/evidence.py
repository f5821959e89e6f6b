"""What the report is counted from: rows of the database, the emulated mailbox, the emulators' journals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.control import GmailAccount, JournalledCall, MailboxState
from sandbox.resend.control import ResendControl

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message in the database with its latest decision, if it has one."""

    message_id: str
    thread_id: str
    direction: str
    received_at: datetime
    sender: str | None
    subject: str
    classification: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class EmailRecord:
    """A thread's record: its state, its draft and its sent message."""

    thread_id: str
    message_id: str
    state: str
    draft_id: str | None = None
    draft_message_id: str | None = None
    sent_message_id: str | None = None


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job; `scheduled` when it was enqueued for a later time and has not been claimed since.

    `thread_id` is the thread that its payload names, `output` what its handler returned.
    """

    job_id: UUID
    job_type: str
    state: str
    scheduled: bool = False
    reason: str | None = None
    thread_id: str | None = None
    output: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """A guarded effect by its key; that of a draft with the draft's id and thread."""

    key: str
    status: str
    draft_id: str | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model call that was billed; `tokens` are all of it, of the prompt, the cache and the answer."""

    job_id: UUID | None
    purpose: str
    cost_microcents: int
    org: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ActionRow:
    """An action on a message; `undo_of` is the action that it takes back."""

    action_id: UUID
    kind: str
    state: str
    message_id: str
    job_id: UUID | None = None
    undo_of: UUID | None = None
    sent_message_id: str | None = None
    approver: str | None = None


@dataclass(frozen=True, slots=True)
class AgentRun:
    """A run of an agent: how it ended, its turns, and how many of its model's calls were refused."""

    job_id: UUID
    thread_id: str
    message_id: str
    status: str
    turns: int
    refused_calls: int


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A connected mailbox, its status, and how often its owner's consent was found to be gone."""

    email: str
    status: str
    consents_lost: int = 0
    user_id: UUID | None = None
    """Its owner."""


@dataclass(frozen=True, slots=True)
class InboxLine:
    """A line of somebody's inbox in the app."""

    title: str
    user_id: UUID


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """A run of a workflow, and where each of its nodes stands."""

    run_id: UUID
    state: str
    nodes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything of the database that the report counts."""

    messages: Sequence[StoredMessage] = ()
    emails: Sequence[EmailRecord] = ()
    jobs: Sequence[JobRow] = ()
    effects: Sequence[Effect] = ()
    model_calls: Sequence[ModelCall] = ()
    actions: Sequence[ActionRow] = ()
    agent_runs: Sequence[AgentRun] = ()
    accounts: Sequence[AccountRow] = ()
    inbox: Sequence[InboxLine] = ()
    workflow_runs: Sequence[WorkflowRun] = ()
    audit_events: int = 0


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything outside the database that the report counts: the mailbox and the emulators' journals."""

    mailbox: MailboxState
    gmail_calls: Sequence[JournalledCall] = ()
    model_answers: Sequence[JournalledCall] = ()
    questions: Sequence[Mapping[str, Any]] = ()
    """The messages in all channels of Discord."""
    sent_emails: Sequence[Mapping[str, Any]] = ()
    """The mails that Resend has taken."""


MESSAGES = """
select m.gmail_message_id as message_id, m.gmail_thread_id as thread_id, m.direction, m.received_at, m.sender,
       m.subject, d.classification, d.source
from messages m
left join lateral (
  select classification, source from decisions d
  where (d.org_id, d.account_id, d.gmail_message_id) = (m.org_id, m.account_id, m.gmail_message_id)
  order by d.at desc, d.id desc limit 1
) d on true
order by m.received_at, m.gmail_message_id
"""
EMAILS = """
select gmail_thread_id as thread_id, gmail_message_id as message_id, state, draft_id, draft_message_id, sent_message_id
from emails order by created_at, id
"""
JOBS = """
select j.id as job_id, j.job_type, j.state, coalesce(j.cancel_reason, j.error ->> 'reason') as reason,
       j.payload ->> 'thread_id' as thread_id, j.output,
       j.state = 'queued' and j.run_at > now() and not exists (
         select from audit_log a where a.job_id = j.id and a.event <> 'job.enqueued') as scheduled
from jobs j order by j.created_at, j.id
"""
EFFECTS = """
select key, status, result_ref ->> 'draft_id' as draft_id, result_ref ->> 'thread_id' as thread_id
from idempotency_keys where kind = 'effect' order by first_seen_at, key
"""
MODEL_CALLS = """
select c.job_id, c.purpose, c.cost_microcents, o.name as org, c.input_tokens + c.output_tokens
  + c.cache_creation_5m_tokens + c.cache_creation_1h_tokens + c.cache_read_tokens as tokens
from llm_calls c join orgs o on o.id = c.org_id order by c.at, c.id
"""
ACTIONS = """
select a.id as action_id, a.kind, a.state, a.gmail_message_id as message_id, a.job_id,
       l.effect_id as undo_of, a.sent_message_id, a.approver
from actions a left join action_links l on l.cause_id = a.id and l.relation = 'undo_of'
order by a.created_at, a.id
"""
AGENT_RUNS = """
select job_id, gmail_thread_id as thread_id, gmail_message_id as message_id, status, turns, refused_calls
from agent_runs order by started_at, id
"""
ACCOUNTS = """
select c.email, c.status, c.user_id, (
  select count(*) from audit_log a
  where a.event = 'account.needs_reconsent' and a.data ->> 'account_id' = c.id::text) as consents_lost
from accounts c order by c.email
"""
INBOX = "select title, user_id from inbox_items order by created_at, user_id, seq"
WORKFLOW_RUNS = """
select r.id as run_id, r.state, (
  select jsonb_object_agg(n.node, n.state) from workflow_nodes n where n.run_id = r.id and n.item = -1) as nodes
from workflow_runs r order by r.created_at, r.id
"""
AUDIT_EVENTS = "select count(*) as audit_events from audit_log"


def read_ledger(connection: psycopg.Connection[Any]) -> Ledger:
    """Read the whole database in one snapshot; needs the owner's connection, which sees every org."""
    with connection.transaction(), connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute("set transaction isolation level repeatable read, read only")
        counted = cursor.execute(AUDIT_EVENTS).fetchone() or {}
        return Ledger(
            messages=_read(cursor, MESSAGES, StoredMessage),
            emails=_read(cursor, EMAILS, EmailRecord),
            jobs=_read(cursor, JOBS, JobRow),
            effects=_read(cursor, EFFECTS, Effect),
            model_calls=_read(cursor, MODEL_CALLS, ModelCall),
            actions=_read(cursor, ACTIONS, ActionRow),
            agent_runs=_read(cursor, AGENT_RUNS, AgentRun),
            accounts=_read(cursor, ACCOUNTS, AccountRow),
            inbox=_read(cursor, INBOX, InboxLine),
            workflow_runs=_read(cursor, WORKFLOW_RUNS, WorkflowRun),
            audit_events=int(counted["audit_events"]),
        )


def read_outside(
    mailbox: GmailAccount,
    gmail: EmulatorControl,
    anthropic: EmulatorControl,
    discord: EmulatorControl,
    resend: ResendControl,
) -> Outside:
    """Read the mailbox, the journals of Gmail and the model, Discord's channels, and what Resend has taken."""
    channels = discord.get("/_control/channels")["channels"]
    questions = [message for messages in channels.values() for message in messages]
    answers = anthropic.journal("messages.create")
    return Outside(mailbox.state(), gmail.journal(), answers, questions, resend.emails())


def _read(cursor: psycopg.Cursor[dict[str, Any]], query: str, kind: type[Row]) -> tuple[Row, ...]:
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type] # every kind here is a dataclass
    return tuple(kind(**{name: row[name] for name in names}) for row in cursor.execute(query.encode()))

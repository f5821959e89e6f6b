"""The steps of the mail pipeline, as every peer runs them: ingest, classify and draft, by the rules of `domain/`.

A step reads what it needs, talks to its providers by the vendors' own packages, and writes in one statement at its end.
A step that is run twice finds what it has stored, decided or drafted, and writes nothing twice; what a crash leaves
between a provider's answer and the statement is done again. Each process keeps its clients and connections, each thread
its connection to Gmail. Which step follows is for the peer's program to say, in the peer's own way.
"""

import base64
import json
import os
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import httplib2
from anthropic import Anthropic, APIError
from anthropic.types import CacheControlEphemeralParam, TextBlockParam, ToolParam
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from psycopg import OperationalError
from psycopg.rows import namedtuple_row
from psycopg_pool import ConnectionPool
from pydantic import TypeAdapter

from bench.peers import program
from domain.mail.correspondence import EmailEvent, LabelRole, label_plan
from domain.mail.outgoing.senders import SenderWords
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.replies.drafting import accept_draft, draft_prompt
from domain.mail.replies.replies import Original, reply_message
from domain.mail.rule_language.rules import complete
from domain.mail.thread_plan import ThreadBefore, plan_thread
from domain.mail.triage.automation import Automation, detect_automation
from domain.mail.triage.automation_signals import Owner
from domain.mail.triage.classification import Decision, accept_answer, decide_by_automation
from domain.mail.triage.prompts import Prompt, classification_prompt
from domain.payloads.mail_address import Address

GMAIL_URL = os.environ.get("BENCH_GMAIL_URL", "")
ANTHROPIC_URL = os.environ.get("BENCH_ANTHROPIC_URL", "")
MESSAGES = os.environ.get("BENCH_MESSAGES", "")
"""The file of the messages to enqueue: `[[box id, message id], ...]`."""

CLASSIFIER, WRITER = "claude-haiku-5-5", "claude-sonnet-5-5"
MOST_TOKENS = 4096
CALL_THE_TOOL = "Answer with exactly one call of the tool `{name}` and nothing else."
KEPT = CacheControlEphemeralParam(type="ephemeral", ttl="5m")
TIMEOUT_S = 30
MOST_CONNECTIONS = 4
RETRIED = (HttpError, APIError, OperationalError, OSError)
"""The errors after which a step is worth running again."""
MOST_RETRIES = 5

DOCUMENT, AUTOMATION = TypeAdapter(ParsedMessage), TypeAdapter(Automation)

_of_thread = threading.local()


@dataclass(frozen=True, slots=True)
class Box:
    """A mailbox: its address, the way in, and the ids of its labels."""

    email: str
    access_token: str
    label_ids: dict[LabelRole, str]

    def call(self, request: Any) -> Any:  # noqa: ANN401  # Google's client has no types
        """Send a request of Gmail's on this thread's connection."""
        request.headers["authorization"] = f"Bearer {self.access_token}"
        return request.execute(http=_connection())


def ingest(box_id: str, message_id: str) -> None:
    """Fetch a message and store it."""
    box = _box(box_id)
    found = box.call(_gmail().messages().get(userId="me", id=message_id, format="raw"))
    parsed = parse_message(base64.urlsafe_b64decode(found["raw"]))
    automation = detect_automation(parsed, found["labelIds"], Owner(addresses=frozenset({box.email})))
    received_at = datetime.fromtimestamp(int(found["internalDate"]) / 1000, UTC)
    with _pool().connection() as connection:
        connection.execute(
            "insert into mail (box_id, message_id, thread_id, received_at, labels, subject, document, automation)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s)"
            " on conflict (box_id, message_id) do update set labels = excluded.labels",
            (
                box_id,
                message_id,
                found["threadId"],
                received_at,
                found["labelIds"],
                parsed.subject,
                DOCUMENT.dump_json(parsed).decode(),
                AUTOMATION.dump_json(automation).decode(),
            ),
        )


def classify(box_id: str, message_id: str) -> str | None:
    """Decide what a message asks for, show that on its thread; returns the thread if a reply is due."""
    with _pool().connection() as connection:
        row = connection.execute(
            "select m.thread_id, m.document::text as document, m.automation::text as automation,"
            " d.wants_draft from mail m left join decisions d using (box_id, message_id)"
            " where box_id = %s and message_id = %s",
            (box_id, message_id),
        ).fetchone()
    if row is None:
        return None
    wants_draft = row.wants_draft
    if wants_draft is None:
        automation = AUTOMATION.validate_json(row.automation)
        decision = _decide(DOCUMENT.validate_json(row.document), automation)
        wants_draft = plan_thread(ThreadBefore(), decision, automation).order_draft
        if wants_draft:
            _label(_box(box_id), row.thread_id, EmailEvent.CLASSIFIED)
        with _pool().connection() as connection:
            connection.execute(
                "insert into decisions (box_id, message_id, source, classification, confidence, rationale, wants_draft)"
                " values (%s, %s, %s, %s, %s, %s, %s) on conflict do nothing",
                (
                    box_id,
                    message_id,
                    decision.source,
                    decision.classification,
                    decision.confidence,
                    decision.rationale,
                    wants_draft,
                ),
            )
    return str(row.thread_id) if wants_draft else None


def draft(box_id: str, thread_id: str) -> None:
    """Have a reply written, put it into the thread as a draft, and show that."""
    with _pool().connection() as connection:
        rows = connection.execute(
            "select m.message_id, m.document::text as document, d.draft_id"
            " from mail m left join drafts d using (box_id, thread_id)"
            " where m.box_id = %s and m.thread_id = %s order by m.received_at desc limit 20",
            (box_id, thread_id),
        ).fetchall()
    if not rows or rows[0].draft_id is not None:
        return
    box = _box(box_id)
    thread = [DOCUMENT.validate_json(row.document) for row in reversed(rows)]
    prompt = draft_prompt(thread, secrets.token_hex(12))
    body = accept_draft(_ask(WRITER, prompt)).body
    original = Original.of(thread[-1], thread, frozenset({box.email}))
    raw = reply_message(
        original, SenderWords(Address("", box.email)), body, token=secrets.token_urlsafe(18), date=datetime.now(UTC)
    )
    message = {"raw": base64.urlsafe_b64encode(raw).decode(), "threadId": thread_id}
    made = box.call(_gmail().drafts().create(userId="me", body={"message": message}))
    _label(box, thread_id, EmailEvent.DRAFT_WRITTEN)
    with _pool().connection() as connection:
        connection.execute(
            "insert into drafts (box_id, thread_id, message_id, draft_id) values (%s, %s, %s, %s)"
            " on conflict do nothing",
            (box_id, thread_id, rows[0].message_id, made["id"]),
        )


@cache
def messages() -> Iterator[tuple[str, str]]:
    """The messages to enqueue, each once: the id of its mailbox and its own."""
    return iter([(box_id, message_id) for box_id, message_id in json.loads(Path(MESSAGES).read_text())])


def _decide(message: ParsedMessage, automation: Automation) -> Decision:
    decision = decide_by_automation(automation)
    if decision is None:
        prompt = classification_prompt(message, secrets.token_hex(12))
        decision = accept_answer(_ask(CLASSIFIER, prompt) or {}, {})
    return complete(decision, None, automation)


def _label(box: Box, thread_id: str, event: EmailEvent) -> None:
    """Change the labels of those messages of a thread that need it; a draft carries none."""
    plan = label_plan(event)
    add = {box.label_ids[role] for role in plan.add}
    remove = {box.label_ids[role] for role in plan.remove if role in box.label_ids}
    shown = box.call(_gmail().threads().get(userId="me", id=thread_id, format="metadata"))
    for message in shown["messages"]:
        carried = set(message["labelIds"])
        change = {"addLabelIds": sorted(add - carried), "removeLabelIds": sorted(remove & carried)}
        if "DRAFT" not in carried and any(change.values()):
            box.call(_gmail().messages().modify(userId="me", id=message["id"], body=change))


def _ask(model: str, prompt: Prompt) -> dict[str, Any] | None:
    """The arguments of the model's call of the prompt's tool; None when it made none."""
    is_forced = model == CLASSIFIER
    system = prompt.system if is_forced else f"{prompt.system}\n\n{CALL_THE_TOOL.format(name=prompt.tool_name)}"
    tool = ToolParam(
        name=prompt.tool_name,
        description=prompt.tool_description,
        input_schema=prompt.tool_schema,
        cache_control=KEPT,
    )
    answer = _anthropic().messages.create(
        model=model,
        max_tokens=MOST_TOKENS,
        system=[TextBlockParam(type="text", text=system, cache_control=KEPT)],
        messages=[{"role": "user", "content": prompt.mail}],
        tools=[tool],
        tool_choice={"type": "tool", "name": prompt.tool_name} if is_forced else {"type": "auto"},
        thinking={"type": "disabled"} if is_forced else {"type": "between_tools"},
    )
    return next((dict(block.input) for block in answer.content if block.type == "tool_use"), None)


@cache
def _box(box_id: str) -> Box:
    """A mailbox; what is known of it changes with its consent only, so each process reads it once."""
    with _pool().connection() as connection:
        row = connection.execute(
            "select email, access_token, needs_response, outbox from boxes where id = %s", (box_id,)
        ).fetchone()
    labels = {LabelRole.NEEDS_RESPONSE: row.needs_response, LabelRole.OUTBOX: row.outbox}
    return Box(row.email, row.access_token, labels)


@cache
def _pool() -> "ConnectionPool[Any]":
    """The process's connections, made after any fork; one statement is a transaction of its own."""
    return ConnectionPool(
        program.DATABASE_URL,
        min_size=1,
        max_size=MOST_CONNECTIONS,
        kwargs={"autocommit": True, "row_factory": namedtuple_row},
    )


@cache
def _gmail() -> Any:  # noqa: ANN401  # Google's client has no types
    options = {"api_endpoint": GMAIL_URL.rstrip("/") + "/"}
    return build("gmail", "v1", http=httplib2.Http(), cache_discovery=False, client_options=options).users()


@cache
def _anthropic() -> Anthropic:
    return Anthropic(api_key="local", base_url=ANTHROPIC_URL, timeout=TIMEOUT_S)


def _connection() -> httplib2.Http:
    """This thread's connection to Gmail; httplib2's may not be shared."""
    if not hasattr(_of_thread, "connection"):
        _of_thread.connection = httplib2.Http(timeout=TIMEOUT_S)
    return _of_thread.connection

"""What each domain refuses: no bound of a column is lost, and a refusal names what was refused."""

import psycopg
import pytest
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from domain.jobs.failures import Invalid
from storage.postgres.database import Database

REFUSED = {
    "email": ["'A@b'", "'ab'", "'@b'", "repeat('a', 320) || '@b'"],
    "sealed": ["''", "convert_to(repeat('x', 20001), 'UTF8')"],
    "whole_number": ["-1"],
    "job_type": ["''", "repeat('x', 101)"],
    "queue": ["'x'"],
    "job_state": ["'pending'", "''"],
    "parked_by": ["'x:y'"],
    "cancel_reason": ["repeat('x', 1001)"],
    "payload": ["'[]'", """jsonb_build_object('a', repeat('x', 262144))""", """'{"password": "x"}'"""],
    "output": ["""'{"password": "x"}'"""],
    "short_text": ["''", "repeat('x', 201)"],
    "step_result": ["""'{"password": "x"}'"""],
    "idempotency_key": ["''", "repeat('x', 401)", "'sk-ant-k3j4h5g6f7d8s9a0'"],
    "serial_key": ["repeat('x', 401)"],
    "actor_type": ["'x'"],
    "actor_id": ["''", "repeat('x', 201)", "'sk-ant-k3j4h5g6f7d8s9a0'"],
    "request_id": ["''", "repeat('x', 201)", "'sk-ant-k3j4h5g6f7d8s9a0'"],
    "correlation_id": ["''", "repeat('x', 201)", "'sk-ant-k3j4h5g6f7d8s9a0'"],
    "traceparent": ["repeat('x', 201)"],
    "priority": ["-101", "101"],
    "payload_version": ["0", "1001"],
    "max_attempts": ["0", "101"],
    "deadline": ["'0 s'"],
    "created_at": ["'-infinity'", "'infinity'"],
    "run_at": ["'-infinity'", "'infinity'"],
    "expires_at": ["'-infinity'", "'infinity'"],
    "guard_key": ["''", "repeat('x', 401)"],
    "guard_kind": ["'x'"],
    "guard_mode": ["'x'"],
    "guard_status": ["'x'"],
    "event": ["'x'", "'job.Claimed'", "'a.b.c'"],
    "event_data": ["""'{"password": "x"}'"""],
    "account_status": ["'x'"],
    "status_reason": ["''", "repeat('x', 501)"],
    "google_id": ["''", "repeat('x', 256)"],
    "short_list": ["array_fill('x'::text, array[101])"],
    "history_id": ["0", "18446744073709551616"],
    "asked_models": ["''", "repeat('x', 301)"],
    "own_addresses": ["'{A@b}'", "array_fill('a@b'::text, array[201])"],
    "account_settings": [
        "'[]'",
        """'{"password": "x"}'""",
        """'{"send_allowed": 1}'""",
        """'{"agent_enabled": "yes"}'""",
        """'{"label_parent": 1}'""",
        """'{"label_parent": ""}'""",
        "jsonb_build_object('label_parent', repeat('x', 101))",
    ],
    "gmail_id": ["''", "repeat('x', 101)"],
    "message_labels": ["array_fill('x'::text, array[1001])"],
    "sender": ["repeat('x', 321)"],
    "address": ["''", "repeat('x', 321)"],
    "subject": ["repeat('x', 1001)"],
    "body": ["repeat('x', 200001)"],
    "message_document": ["'[]'", "jsonb_build_object('a', repeat('x', 8000000))"],
    "rfc_message_id": ["repeat('x', 2001)"],
    "direction": ["'x'"],
    "automation_kind": ["'x'"],
    "automation_weight": ["'x'"],
    "automation_evidence": ["array_fill('x'::text, array[201])", "array[repeat('x', 100000)]"],
    "classification": ["'x'"],
    "confidence": ["-0.01", "1.01", "'NaN'"],
    "decision_source": ["'x'"],
    "email_state": ["'x'"],
    "draft_token": ["'short'", "repeat('x', 65)", "'a token of a draft'"],
    "rework_count": ["-1", "4"],
    "mailbox_change": ["'x'"],
    "action_kind": ["'x'"],
    "action_state": ["'x'"],
    "action_parameters": ["'[]'", """'{"password": "x"}'""", "jsonb_build_object('a', repeat('x', 200000))"],
    "action_files": ["'{}'", "jsonb_build_array(repeat('x', 300000))"],
    "action_error": ["jsonb_build_object('a', repeat('x', 20000))"],
    "undo_hint": ["'[]'", "jsonb_build_object('a', repeat('x', 200000))"],
    "delivery_channel": ["'x'"],
    "delivery_state": ["'x'"],
    "delivery_reason": ["repeat('x', 301)"],
    "provider_id": ["repeat('x', 501)"],
    "said": ["jsonb_build_object('a', repeat('x', 1048576))"],
    "chosen_name": ["''", "'-x'", "'X'", "repeat('x', 64)"],
    "node_name": ["''", "'1x'", "'X'", "repeat('x', 64)"],
    "run_document": ["jsonb_build_object('a', repeat('x', 131072))"],
    "run_input": ["'[]'", "jsonb_build_object('a', repeat('x', 131072))"],
    "run_state": ["'x'"],
    "run_reason": ["''", "repeat('x', 1001)"],
    "node_state": ["'x'"],
    "node_item": ["-2", "10000"],
    "pending_needs": ["-1", "101"],
    "node_input": ["jsonb_build_object('a', repeat('x', 524288))"],
    "output_refused": ["repeat('x', 1001)"],
    "skipped_because": ["''", "repeat('x', 101)"],
    "stopped_for": ["'x'"],
    "waiting_hook": ["'x'"],
}
"""Values in SQL that are just too much, or are no such value, for each domain of the schema."""

HOT = (
    "jobs, job_steps, idempotency_keys, audit_entries, accounts, threads, messages, emails, expected_writes,"
    " draft_tokens, budget_days, budget_reservations, deliveries, job_waiters, workflow_nodes"
)
"""Tables of which a message, a job or a node of a workflow writes rows."""


def test_every_domain_is_listed_here(database: Connection) -> None:
    query = "select typname from pg_type where typtype = 'd' and typnamespace = 'postroom'::regnamespace"
    assert {name for (name,) in database.execute(query).fetchall()} == set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_a_domain_refuses_what_is_out_of_its_bounds(database: Connection, name: str) -> None:
    for value in REFUSED[name]:
        with pytest.raises(psycopg.Error) as refused, database.transaction():
            database.execute(SQL("select ({})::{}").format(SQL(value), Identifier("postroom", name)))
        assert refused.value.sqlstate in {"23514", "PR002", "PR003"}, value


def test_a_refusal_names_what_was_refused(store: Database) -> None:
    with store.ledger() as tx, pytest.raises(Invalid) as refused:
        tx.raw("select 'x'::postroom.classification")
    assert (refused.value.field, refused.value.reason) == (
        "classification",
        "classification: breaks the ledger's rule classification_check",
    )


def test_values_of_hot_tables_are_checked_by_domains_alone(database: Connection) -> None:
    """PostgreSQL reads and plans a table's checks in each statement that writes, and makes them of every version."""
    query = (
        "select conrelid::regclass::text, conname from pg_constraint"
        " where contype = 'c' and cardinality(conkey) = 1 and conrelid::regclass::text = any (%s)"
    )
    assert database.execute(query, (HOT.split(", "),)).fetchall() == []

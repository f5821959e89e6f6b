"""The hot lookups find their rows by an index, as the tenant role with row-level security on.

The tables that grow with the mail hold a few thousand rows, analysed. Sequential scans are turned off all the same, for
the sake of the tables that stay small; there only is shown that the index serves the condition under the policy.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from storage.mail.accounts.expected_writes import KEEP
from storage.postgres.database import Database, Transaction
from storage.postgres.queries import statement
from tests.doubles.mail_factories import make_account

NOW = datetime.now(UTC)
PLANS: list[tuple[str, dict[str, Any], str]] = [
    ("get_message", {"message_id": "m1"}, "messages_pkey"),
    ("find_unknown_messages", {"ids": ["m1", "m2"]}, "messages_pkey"),
    ("list_thread_messages", {"thread_id": "t1", "limit": 5}, "messages_thread"),
    ("find_unclassified_messages", {"since": NOW, "asked": "a model", "after": "m1", "limit": 5}, "messages_received"),
    ("find_inbox_messages", {"since": NOW}, "messages_received"),
    ("find_correspondents", {"addresses": ["7@example.org"], "before": NOW}, "correspondents_pkey"),
    ("find_earlier_decisions", {"message_id": "m1", "job_id": UUID(int=1), "asked": "a model"}, "decisions_message"),
    ("change_message_labels", {"ids": ["m1"], "added": [], "removed": []}, "messages_pkey"),
    ("get_email", {"thread_id": "t1"}, "emails_org_id_account_id_gmail_thread_id_key"),
    ("find_email_by_draft_message", {"message_id": "dm1"}, "emails_draft_message"),
    ("find_draft_tokens", {"tokens": ["token-number-1"]}, "draft_tokens_pkey"),
    (
        "find_open_records",
        {"since": NOW, "limit": 5, "after_state": "drafted", "after_time": NOW, "after_thread": "t1"},
        "emails_open",
    ),
    ("withdraw_orders", {"messages": ["m1"], "labels": ["Label_1"]}, "emails_open"),
    ("find_ordering_messages", {"labels": ["Label_1"]}, "emails_open"),
    ("list_labels", {}, "labels_pkey"),
    ("list_decisions", {"message_id": "m1", "limit": 5}, "decisions_message"),
    ("list_actions", {"message_id": "m1"}, "actions_message"),
    (
        "list_rules",
        {"kinds": ["tell", "direction"], "domain": "example.org", "sender": "ada@example.org", "limit": 5},
        "rules_scope",
    ),
    ("list_safety_policies", {}, "safety_policies_org_id_account_id_key"),
    ("list_corrections", {"since": NOW, "limit": 5}, "label_corrections_account"),
    ("list_past_mail", {"before": NOW, "before_id": "m1", "limit": 5}, "messages_received"),
    ("record_corrections", {"messages": ["m1"], "labels": ["L1"], "moved_to": [None]}, "messages_pkey"),
]

ROWS = (
    "insert into threads select %(org)s, %(account)s, 't' || n, now(), now() from generate_series(1, 1000) as n",
    """
    insert into messages (org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at, size, labels,
                          subject, body, document)
    select %(org)s, %(account)s, 'm' || n, 't' || 1 + n %% 1000, 'incoming', now() - n * interval '1 minute', 1,
           '{INBOX}', 'x', 'x', '{}' from generate_series(1, 4000) as n""",
    """
    insert into correspondents (org_id, account_id, address, heard_at)
    select %(org)s, %(account)s, n || '@example.org', now() from generate_series(1, 2000) as n""",
    """
    insert into draft_tokens (org_id, account_id, token, gmail_thread_id)
    select %(org)s, %(account)s, 'token-number-' || n, 't' || n from generate_series(1, 1000) as n""",
    """
    insert into emails (org_id, account_id, gmail_thread_id, gmail_message_id, state, draft_id, draft_message_id,
                        draft_fingerprint, drafted_at)
    select %(org)s, %(account)s, 't' || n, 'm' || n, 'drafted', 'r' || n, 'dm' || n, 'f', now()
    from generate_series(1, 1000) as n""",
    """
    insert into decisions (org_id, account_id, gmail_message_id, source, classification, confidence, rationale)
    select %(org)s, %(account)s, 'm' || n, 'llm', 'fyi', 0.5, 'x' from generate_series(1, 2000) as n""",
    """
    insert into actions (org_id, account_id, gmail_message_id, kind, danger, state)
    select %(org)s, %(account)s, 'm' || n, 'archive', 'reversible', 'queued' from generate_series(1, 2000) as n""",
)


def indexes_of(tx: Transaction, name: str, **parameters: object) -> set[str]:
    tx.raw("set local enable_seqscan = off")
    plan = tx.raw(f"explain (format json) {statement(name)}", parameters)[0][0]
    return set(_indexes(plan[0]["Plan"]))


def _indexes(node: dict[str, Any]) -> list[str]:
    found = [node["Index Name"]] if "Index Name" in node and "Index Cond" in node else []
    return found + [index for child in node.get("Plans", ()) for index in _indexes(child)]


def test_a_handlers_lookups_use_their_index(store: Database, database: Connection) -> None:
    account = make_account(store)
    for statement_text in ROWS:
        database.execute(statement_text, {"org": account.org_id, "account": account.account_id})
    database.execute("analyze")
    for name, parameters, index in PLANS:
        with store.tenant(account.org_id) as tx:
            assert index in indexes_of(tx, name, account_id=account.account_id, **parameters), name


def test_open_records_come_in_the_order_of_their_index(store: Database, database: Connection) -> None:
    account = make_account(store)
    for statement_text in ROWS:
        database.execute(statement_text, {"org": account.org_id, "account": account.account_id})
    database.execute("analyze")
    place = {"after_state": "drafted", "after_time": NOW, "after_thread": "t1"}
    with store.tenant(account.org_id) as tx:
        parameters = {"account_id": account.account_id, "since": NOW - timedelta(days=30), "limit": 500} | place
        tx.raw("set local enable_seqscan = off")
        plan = tx.raw(f"explain (format json) {statement('find_open_records')}", parameters)[0][0][0]["Plan"]
    assert "Sort" not in set(_types(plan)), plan


def _types(node: dict[str, Any]) -> list[str]:
    return [node["Node Type"]] + [found for child in node.get("Plans", ()) for found in _types(child)]


@pytest.mark.parametrize(
    ("name", "parameters", "index"),
    [
        ("find_accounts_by_email", {"email": "me@example.com"}, "accounts_email"),
    ],
)
def test_the_fleets_lookups_use_their_index(store: Database, name: str, parameters: dict[str, Any], index: str) -> None:
    with store.ledger() as tx:
        assert index in indexes_of(tx, name, **parameters)


def test_expected_writes_are_found_by_account(store: Database) -> None:
    account = make_account(store)
    names = ("places", "history_ids", "changes", "threads", "messages", "labels")
    with store.tenant(account.org_id) as tx:
        empty: dict[str, list[str]] = {name: [] for name in names}
        found = indexes_of(tx, "match_expected_writes", account_id=account.account_id, keep=KEEP, **empty)
    assert "expected_writes_account" in found

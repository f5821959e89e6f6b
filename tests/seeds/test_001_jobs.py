"""Names of job types, errors, labels, at the level of jobs (docs: seeds.md#001-53-dispatcher)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.mail.triage.rules import parse_rule
from domain.payloads import payload_types
from storage.accounts import labels
from storage.rules import kept_rules, rules
from tests.doubles.mail_environment import MailEnvironment, taken_in
from tests.sandbox.sdk import gmail_users

NAMES = {
    "ingest.gmail": "gmail.ingest",
    "classify": "triage.classify",
    "history.sync.gmail": "gmail.sync",
    "labels.sync.gmail": "gmail.sync_labels",
    "backfill.gmail": "gmail.backfill",
    "action.gmail": "actions.execute",
    "unsnooze.gmail": "actions.unsnooze",
    "undo.action": "actions.undo",
    "outbound.send": "outbound.send",
}
"""Section 5.3: nine constants."""


@pytest.mark.parametrize("name", NAMES)
def test_5_3_the_seed_s_name_of_a_job_type_is_understood(name: str) -> None:
    found = payload_types.find(name)
    assert found is not None
    assert found.declaration.job_type == NAMES[name]


def test_5_1_backfill_gmail_syncs_historical_messages_in_bulk(env: MailEnvironment) -> None:
    at = int((datetime.now(UTC) - timedelta(days=300)).timestamp() * 1000)
    places = [env.deliver(f"Letter {number}", "For your information only.", internal_date=at) for number in range(3)]
    env.enqueue("backfill.gmail")
    env.drain()
    assert taken_in(env) == {place.message_id for place in places}
    assert env.count("select count(*) from decisions") == 0


def test_5_3_ingest_gmail_needs_the_message_only(env: MailEnvironment) -> None:
    place = env.deliver("Letter", "For your information only.")
    assert env.run(env.enqueue("ingest.gmail", {"message_id": place.message_id})) == "succeeded"
    assert taken_in(env) == {place.message_id}


@pytest.mark.parametrize(
    ("job_type", "payload"),
    [("backfill.gmail", {"since": "2999-01-01T00:00:00Z"}), ("backfill.gmail", {"query": "a\u0007"})],
)
def test_5_4_an_invalid_parameter_is_fatal(env: MailEnvironment, job_type: str, payload: dict[str, Any]) -> None:
    """Not tried again, and the error names the parameter; a payload that cannot be read ends as a dead letter."""
    job_id = env.enqueue(job_type, payload)
    assert env.run(job_id) in {"failed", "dead"}
    job = env.job(job_id)
    assert job["attempt"] == 1
    assert f"payload.{next(iter(payload))}" in job["error"]["reason"]


def test_5_6_labels_sync_keeps_what_the_user_said_and_disables_rules_of_a_deleted_label(env: MailEnvironment) -> None:
    here = env.account.account_id
    with gmail_users(env.gmail.url) as users:
        label_id = users.labels().create(userId="me", body={"name": "Projects"}).execute()["id"]
        assert env.run(env.enqueue("labels.sync.gmail")) == "succeeded"
        with env.process.database.ledger() as tx:
            labels.describe(tx, here, label_id, description="mine", for_classifier=True)
            condition = {"kind": "label", "label_id": label_id}
            document = {"rule_id": "x", "name": "r", "condition": condition, "decision": {"classification": "fyi"}}
            rules.add(tx, env.account.org_id, parse_rule(document), account_id=here)
        users.labels().patch(userId="me", id=label_id, body={"name": "Ventures"}).execute()
        assert env.run(env.enqueue("labels.sync.gmail")) == "succeeded"
        with env.process.database.ledger() as tx:
            (kept,) = [one for one in labels.list_all(tx, here) if one.label.label_id == label_id]
            (rule,) = rules.of_account(tx, here).rules
        assert (kept.label.name, kept.description, kept.for_classifier) == ("Ventures", "mine", True)
        assert rule.enabled, "a label's name is no key"
        users.labels().delete(userId="me", id=label_id).execute()
    assert env.run(env.enqueue("labels.sync.gmail")) == "succeeded"
    with env.process.database.ledger() as tx:
        (kept_rule,) = kept_rules.listed(tx, env.account.org_id, account_id=here)
    assert (kept_rule.enabled, kept_rule.disabled_reason) == (False, "Label 'Ventures' was deleted from Gmail")

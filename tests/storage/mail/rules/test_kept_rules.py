"""Rules as their owners keep them: added, mended, turned, removed, and never another org's."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Conflict, Forbidden, Gone, Invalid
from domain.mail.mailbox import MailboxLabel
from domain.mail.rule_language.rule_file import read_rule_document
from domain.mail.rule_language.rule_words import WrittenRule
from domain.mail.triage.prompts import RuleScope
from storage.mail.accounts import labels
from storage.mail.accounts.accounts import Account
from storage.mail.rules import directions, kept_rules
from storage.mail.rules.kept_rules import MOST_BYTES, KeptRule
from storage.mail.rules.rules import Reach
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account

BILLS: dict[str, Any] = {
    "name": "Bills",
    "when": {"subject": "bill"},
    "then": {"actions": [{"apply_label": "L1"}]},
    "priority": 7,
}
BOSS: dict[str, Any] = {
    "name": "Boss",
    "tell": "Her mail needs an answer.",
    "for": {"sender": "ada@example.org"},
    "labels": ["L1"],
}
ALL: dict[str, Any] = {"name": "All", "tell": "Be brief.", "for": "global", "enabled": False}


def written(*documents: dict[str, Any]) -> tuple[WrittenRule, ...]:
    return read_rule_document(list(documents))


def added(store: Database, account: Account, *documents: dict[str, Any]) -> tuple[UUID, ...]:
    with store.ledger() as tx:
        return kept_rules.add(tx, account.org_id, account.account_id, written(*documents))


def kept(store: Database, account: Account, rule_id: UUID) -> KeptRule:
    with store.tenant(account.org_id) as tx:
        return kept_rules.get(tx, account.org_id, rule_id)


def give_label(store: Database, account: Account, *label_ids: str) -> None:
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [MailboxLabel(one, f"name of {one}", "user") for one in label_ids])


def test_rules_of_both_kinds_come_back_as_they_were_written(store: Database) -> None:
    account, other = make_account(store), make_account(store, email="you@example.com")
    ids = added(store, account, BILLS, BOSS, ALL)
    with store.tenant(account.org_id) as tx:
        found = {one.rule_id: one for one in kept_rules.listed(tx, account.org_id)}
        off = kept_rules.listed(tx, account.org_id, enabled=False)
        elsewhere = kept_rules.listed(tx, account.org_id, account_id=other.account_id)
    assert [found[one].document for one in ids] == [BILLS, BOSS, ALL]
    assert [found[one].kind for one in ids] == ["when", "tell", "tell"]
    assert [found[one].account_id for one in ids] == [account.account_id, account.account_id, None]
    assert [one.name for one in off] == ["All"]
    assert [one.name for one in elsewhere] == ["All"], "a rule of the whole org applies to each of its mailboxes"


def test_another_org_finds_nothing(store: Database) -> None:
    account, stranger = make_account(store), make_account(store, org="another org")
    (rule_id,) = added(store, account, BILLS)
    with store.tenant(stranger.org_id) as tx:
        assert kept_rules.listed(tx, stranger.org_id) == kept_rules.listed(tx, account.org_id) == ()
        for org_id in (stranger.org_id, account.org_id):
            with pytest.raises(Gone):
                kept_rules.get(tx, org_id, rule_id)
    with store.ledger() as tx:
        assert kept_rules.org_of(tx, rule_id) == account.org_id
        with pytest.raises(Gone):
            kept_rules.turn(tx, stranger.org_id, rule_id, on=False, reason="x")
        with pytest.raises(Gone):
            kept_rules.remove(tx, stranger.org_id, rule_id)
        with pytest.raises(Gone):
            kept_rules.mend(tx, stranger.org_id, rule_id, written(BILLS)[0])
    assert kept(store, account, rule_id).enabled


def test_a_rule_that_a_vanished_label_turned_off_is_seen_and_mended(store: Database) -> None:
    account = make_account(store)
    give_label(store, account, "L1", "L2")
    rule_ids = added(store, account, BILLS, BOSS)
    give_label(store, account, "L2")
    for rule_id in rule_ids:
        assert kept(store, account, rule_id).disabled_reason == "Label 'name of L1' was deleted from Gmail"
        with store.ledger() as tx, pytest.raises(Conflict, match="name of L1"):
            kept_rules.turn(tx, account.org_id, rule_id, on=True)
    mended = (BILLS | {"then": {"actions": [{"apply_label": "L2"}]}}, BOSS | {"labels": ["L2"]})
    for rule_id, document in zip(rule_ids, mended, strict=True):
        with store.ledger() as tx:
            kept_rules.mend(tx, account.org_id, rule_id, written(document)[0])
        found = kept(store, account, rule_id)
        assert (found.enabled, found.disabled_reason, found.document) == (True, None, document)


def test_a_rule_is_turned_off_with_a_reason_and_on_again(store: Database) -> None:
    account = make_account(store)
    give_label(store, account, "L1")
    for rule_id in added(store, account, BILLS, BOSS):
        with store.ledger() as tx:
            kept_rules.turn(tx, account.org_id, rule_id, on=False, reason="too eager")
        assert (kept(store, account, rule_id).enabled, kept(store, account, rule_id).disabled_reason) == (
            False,
            "too eager",
        )
        with store.ledger() as tx:
            kept_rules.turn(tx, account.org_id, rule_id, on=True)
        assert (kept(store, account, rule_id).enabled, kept(store, account, rule_id).disabled_reason) == (True, None)


def test_a_rule_is_not_mended_by_one_of_the_other_kind(store: Database) -> None:
    account = make_account(store)
    for rule_id, other in zip(added(store, account, BILLS, BOSS), (BOSS, BILLS), strict=True):
        with store.ledger() as tx, pytest.raises(Invalid, match="of the other kind"):
            kept_rules.mend(tx, account.org_id, rule_id, written(other)[0])


def test_a_broken_rule_is_listed_with_why(store: Database, database: Connection) -> None:
    account = make_account(store)
    (rule_id,) = added(store, account, BILLS)
    database.execute("""update rules set definition = '{"when": {"astrology": true}}'""")
    found = kept(store, account, rule_id)
    assert (found.rule, found.document) == (None, None)
    assert str(found.broken).startswith("when.astrology: ")
    with store.ledger() as tx, pytest.raises(Conflict):
        kept_rules.turn(tx, account.org_id, rule_id, on=True)
    with store.ledger() as tx:
        kept_rules.mend(tx, account.org_id, rule_id, written(BILLS)[0])
    assert kept(store, account, rule_id).document == BILLS


def test_removed_is_gone(store: Database) -> None:
    account = make_account(store)
    for rule_id in added(store, account, BILLS, BOSS):
        with store.ledger() as tx:
            kept_rules.remove(tx, account.org_id, rule_id)
            with pytest.raises(Gone):
                kept_rules.remove(tx, account.org_id, rule_id)


def test_an_orgs_rule_of_account_scope_needs_an_account(store: Database) -> None:
    account = make_account(store)
    with store.ledger() as tx, pytest.raises(Invalid) as refusal:
        kept_rules.add(tx, account.org_id, None, written({"name": "x", "tell": "x"}))
    assert refusal.value.field == "for"


def test_the_number_of_rules_is_bounded(store: Database) -> None:
    account = make_account(store)
    added(store, account, BILLS, BOSS)
    with store.ledger() as tx, pytest.raises(Forbidden, match="at most 2 rules"):
        kept_rules.add(tx, account.org_id, account.account_id, written(ALL), most=2)


def test_the_bytes_of_an_orgs_rules_are_bounded_however_they_come(store: Database) -> None:
    account = make_account(store)
    when = {"any": [{"subject": f"{n:0490}"} for n in range(50)]}
    long = {"name": "x", "when": {"all": [when] * 3}, "then": {"class": "fyi"}}
    small, *_ = added(store, account, BILLS, *[long] * (MOST_BYTES // 76_000))
    with store.ledger() as tx, pytest.raises(Forbidden, match="bytes together"):
        kept_rules.add(tx, account.org_id, account.account_id, written(long))
    with store.ledger() as tx, pytest.raises(Forbidden, match="bytes together"):
        kept_rules.mend(tx, account.org_id, small, written(long)[0])


def test_directions_are_listed_and_removed_by_their_org_alone(store: Database) -> None:
    account, stranger = make_account(store), make_account(store, org="another org")
    with store.ledger() as tx:
        reach = Reach(RuleScope.DOMAIN, account.account_id, "Example.org")
        made = directions.add(tx, account.org_id, reach, "Be kind.")
    with store.tenant(stranger.org_id) as tx:
        assert directions.listed(tx, account.org_id) == ()
    with store.ledger() as tx:
        (found,) = directions.listed(tx, account.org_id, account_id=account.account_id)
        assert (found.direction_id, found.scope, found.scope_ref, found.content) == (
            made,
            "domain",
            "example.org",
            "Be kind.",
        )
        with pytest.raises(Gone):
            directions.remove(tx, stranger.org_id, made)
        directions.remove(tx, account.org_id, made)
        with pytest.raises(Gone):
            directions.remove(tx, account.org_id, uuid4())
        assert directions.listed(tx, account.org_id) == ()

"""Rules and directions come back for the messages they are meant for, widest scope first."""

from uuid import uuid4

import pytest
from psycopg import Connection
from psycopg.errors import CheckViolation

from domain.jobs.failures import Gone
from domain.mail.rule_language.rules import Rule, parse_rule
from domain.mail.triage.prompts import RuleScope
from domain.payloads.mail_address import Address
from storage.mail.rules import kept_rules, rules
from storage.mail.rules.rules import Reach
from storage.postgres.database import Database
from tests.doubles.mail_factories import add_in_words, make_account

ADA = Address("Ada", "Ada@Example.org")


def rule_named(name: str, priority: int = 100) -> Rule:
    condition = {"label": "INBOX"}
    return parse_rule(
        {
            "rule_id": "x",
            "name": name,
            "priority": priority,
            "stop": False,
            "when": condition,
            "then": {"class": "fyi"},
        }
    )


def test_an_account_gets_its_own_rules_and_its_orgs(store: Database) -> None:
    account, other = make_account(store), make_account(store, email="you@example.com")
    stranger = make_account(store, org="another org")
    with store.ledger() as tx:
        rules.add(tx, account.org_id, rule_named("org", 5))
        mine = rules.add(tx, account.org_id, rule_named("mine", 5), account_id=account.account_id)
        rules.add(tx, account.org_id, rule_named("first", 1), account_id=account.account_id)
        rules.add(tx, other.org_id, rule_named("other's"), account_id=other.account_id)
        rules.add(tx, stranger.org_id, rule_named("stranger's"))
        found = rules.of_account(tx, account.account_id).answer
        assert [(rule.name, rule.scope) for rule in found.rules] == [
            ("first", "account"),
            ("mine", "account"),
            ("org", "org"),
        ]
        expected = rule_named("mine", 5).model_copy(update={"rule_id": str(mine)})
        assert found.rules[1] == expected
        kept_rules.turn(tx, account.org_id, mine, on=False, reason="too eager")
        assert [rule.name for rule in rules.of_account(tx, account.account_id).answer.rules] == ["first", "org"]


def test_a_rule_that_cannot_be_read_does_not_stop_the_others(store: Database, database: Connection) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        broken = rules.add(tx, account.org_id, rule_named("old"))
        rules.add(tx, account.org_id, rule_named("good"))
    database.execute("""update rules set definition = '{"when": {"astrology": true}}' where name = 'old'""")
    with store.tenant(account.org_id) as tx:
        found = rules.of_account(tx, account.account_id).answer
    assert [rule.name for rule in found.rules] == ["good"]
    assert [rule_id for rule_id, _ in found.broken] == [broken]


def test_guidance_is_what_is_in_scope(store: Database) -> None:
    account, other = make_account(store), make_account(store, email="you@example.com")
    reaches = {
        "everyone": Reach(),
        "mine": Reach(RuleScope.ACCOUNT, account.account_id),
        "yours": Reach(RuleScope.ACCOUNT, other.account_id),
        "her domain": Reach(RuleScope.DOMAIN, ref="EXAMPLE.org"),
        "her": Reach(RuleScope.SENDER, ref="ada@example.org"),
        "your view of her": Reach(RuleScope.SENDER, other.account_id, "ada@example.org"),
        "another domain": Reach(RuleScope.DOMAIN, ref="example.com"),
    }
    with store.tenant(account.org_id) as tx:
        for content, reach in reversed(reaches.items()):
            rules.add_direction(tx, account.org_id, reach, content=content)
            add_in_words(tx, account.org_id, reach, name="a rule", content=content)
        full = rules.guidance(tx, account.account_id, ADA).answer
        nobody = rules.guidance(tx, account.account_id, None).answer
    assert full.directions == ("everyone", "mine", "her domain", "her")
    assert [(rule.text, rule.scope_ref) for rule in full.rules] == [
        ("everyone", ""),
        ("mine", str(account.account_id)),
        ("her domain", "example.org"),
        ("her", "ada@example.org"),
    ]
    assert nobody.directions == ("everyone", "mine")


def test_a_rule_that_says_the_same_in_a_narrower_scope_is_told_once(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        for reach, content in (
            (Reach(), "File her bills."),
            (Reach(RuleScope.SENDER, ref=ADA.key), "file  her bills."),
        ):
            add_in_words(tx, account.org_id, reach, name="a rule", content=content)
        found = rules.guidance(tx, account.account_id, ADA).answer.rules
    assert [rule.text for rule in found] == ["File her bills."]


def test_a_rule_in_words_that_is_off_is_silent(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        rule_id = add_in_words(tx, account.org_id, Reach(), name="w", content="words")
        kept_rules.turn(tx, account.org_id, rule_id, on=False, reason="no longer")
        assert rules.guidance(tx, account.account_id, ADA).answer.rules == ()


def test_an_unknown_org_has_no_rules(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx, pytest.raises(Gone):
        rules.add(tx, uuid4(), rule_named("x"))


ODD_SCOPES = (
    "scope = 'account'",
    "scope = 'domain'",
    "scope = 'sender', scope_ref = 'example.org'",
    "scope = 'domain', scope_ref = 'ada@example.org'",
    "scope = 'domain', scope_ref = 'Example.org'",
    "scope_ref = 'example.org'",
    "scope = 'planet'",
    "content = ''",
    "content = null",
)


def test_a_scope_says_exactly_what_it_reaches(store: Database, database: Connection) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        rules.add_direction(tx, account.org_id, Reach(), content="x")
        add_in_words(tx, account.org_id, Reach(), name="x", content="x")
    for kind in ("tell", "direction"):
        for change in ODD_SCOPES:
            with pytest.raises(CheckViolation):
                database.execute(f"update rules set {change} where kind = %s", (kind,))

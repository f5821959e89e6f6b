"""Rules, the model, the safety policy, and mending what a label disabled (docs: seeds.md#001-55-classify)."""

from typing import Any

import pytest

from domain.jobs.failures import Invalid
from domain.mail.account_settings import parse_settings
from domain.mail.parsing.parsed_message import Address
from domain.mail.rule_language.defects import RefusedRules
from domain.mail.rule_language.rule_file import read_rule_document, read_rule_file
from domain.mail.triage.prompts import RuleScope
from domain.mail.triage.rules import parse_rule
from sandbox.emulator.control import MessagePlace
from storage.accounts import labels
from storage.actions import actions
from storage.mail import decisions
from storage.rules import directions, kept_rules, owner_settings, rules
from storage.rules.rules import Reach
from tests.doubles.mail_environment import MailEnvironment
from tests.sandbox.sdk import gmail_users

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
STAR = {"name": "Anna", "when": {"from": "anna@example.com"}, "then": {"class": "fyi", "actions": ["archive"]}}


def write(env: MailEnvironment, *documents: dict[str, Any]) -> None:
    with env.process.database.ledger() as tx:
        kept_rules.add(tx, env.account.org_id, env.account.account_id, read_rule_document(list(documents)))


def take(env: MailEnvironment, text: str = QUESTION) -> MessagePlace:
    env.sync()
    place = env.deliver("Lunch?", text)
    env.sync()
    return place


def outcome(env: MailEnvironment, place: MessagePlace) -> tuple[str, str, float, list[tuple[str, str]]]:
    """Source, class, confidence, and the state of each action."""
    with env.process.database.ledger() as tx:
        decision = decisions.of_message(tx, env.account.account_id, place.message_id)[0]
        found = actions.of_message(tx, env.account.account_id, place.message_id)
    states = [(one.action.kind.value, "waits" if one.state == "approved_pending" else "goes") for one in found]
    return str(decision.source), str(decision.classification), decision.confidence, states


def test_54_55_60_61_62_a_rule_decides_first_and_for_certain(env: MailEnvironment) -> None:
    write(env, STAR)
    place = take(env)
    assert outcome(env, place) == ("deterministic", "fyi", 1.0, [("archive", "goes")])
    assert env.model.journal("messages.create") == []


def test_33_60_the_safety_policy_is_data_and_binds_both_paths(env: MailEnvironment) -> None:
    write(env, STAR)
    with env.process.database.ledger() as tx:
        policy = {"approve_from": "reversible", "always_approve": ["star"]}
        owner_settings.change_policy(tx, env.account.org_id, env.account.account_id, policy, by="ada")
    by_rule = take(env)
    assert outcome(env, by_rule)[3] == [("archive", "waits")]
    with env.process.database.ledger() as tx:
        (rule,) = kept_rules.listed(tx, env.account.org_id)
        kept_rules.remove(tx, env.account.org_id, rule.rule_id)
    env.say(input_update={"actions": ["star", "mark_read"]})
    by_model = take(env, "For your information only.")
    assert outcome(env, by_model)[0] == "llm"
    assert outcome(env, by_model)[3] == [("star", "waits"), ("mark_read", "goes")]


def test_59_the_model_may_ask_only_for_what_the_account_offers(env: MailEnvironment) -> None:
    env.say(input_update={"actions": ["trash"]})
    refused = take(env, "For your information only.")
    assert outcome(env, refused)[1] == "needs_review"
    here = (env.account.org_id, env.account.account_id)
    with env.process.database.ledger() as tx:
        owner_settings.change_settings(tx, *here, parse_settings({"model_actions": ["trash"]}))
    env.say(input_update={"actions": ["trash"]})
    offered = take(env, "For your information only.")
    assert outcome(env, offered)[3] == [("trash", "goes")]


def test_56_57_64_65_66_67_68_directions_and_rules_of_all_scopes_reach_the_model(env: MailEnvironment) -> None:
    here, org_id = env.account.account_id, env.account.org_id
    scopes: dict[str, object] = {
        "global": "global",
        "account": "account",
        "domain": {"domain": "EXAMPLE.com"},
        "sender": {"sender": "Anna@Example.com"},
        "others": {"sender": "bob@example.com"},
    }
    write(env, *({"name": name, "tell": f"the {name} rule", "for": reach} for name, reach in scopes.items()))
    write(env, {"name": "again", "tell": "The  GLOBAL rule", "for": {"domain": "example.com"}})
    with env.process.database.ledger() as tx:
        directions.add(tx, org_id, Reach(RuleScope.DOMAIN, here, "example.com"), "a direction")
    anna = Address("Anna", "anna@example.com")
    with env.process.database.tenant(org_id) as tx:
        found = rules.guidance(tx, here, anna)
        unknown = rules.guidance(tx, here, None)
    assert [one.text for one in found.rules] == [
        f"the {scope} rule" for scope in ("global", "account", "domain", "sender")
    ]
    assert found.directions == ("a direction",)
    assert [one.text for one in unknown.rules] == ["the global rule", "the account rule"]


@pytest.mark.parametrize("condition", [{"body": {"matches": "("}}, {"subject": None}, {"header": {"contains": "x"}}])
def test_51_a_condition_error_is_refused_when_the_rule_is_written(condition: dict[str, Any]) -> None:
    with pytest.raises(RefusedRules) as refusal:
        read_rule_document({**STAR, "when": condition})
    assert refusal.value.field.startswith("/when")
    with pytest.raises(Invalid):
        parse_rule({"rule_id": "x", "name": "x", "condition": {"kind": "body", "pattern": "("}, "decision": {}})


def test_51_a_bad_pattern_names_its_line_and_column() -> None:
    with pytest.raises(RefusedRules, match=r"mine\.yaml:2:24: is no regular expression"):
        read_rule_file(b"name: x\nwhen: {body: {matches: '('}}\nthen: {class: fyi}\n", "mine.yaml")


def test_81_82_a_disabled_rule_is_reviewed_and_mended_and_a_label_described(env: MailEnvironment) -> None:
    with gmail_users(env.gmail.url) as users:
        made = [str(users.labels().create(userId="me", body={"name": name}).execute()["id"]) for name in ("Old", "New")]
        env.enqueue("gmail.sync_labels")
        env.drain(only="gmail.sync_labels")
        write(env, {**STAR, "then": {"actions": [{"apply_label": made[0]}]}})
        users.labels().delete(userId="me", id=made[0]).execute()
    env.enqueue("gmail.sync_labels")
    env.drain(only="gmail.sync_labels")
    here, org_id = env.account.account_id, env.account.org_id
    with env.process.database.ledger() as tx:
        (off,) = kept_rules.listed(tx, org_id, account_id=here, enabled=False)
        assert off.disabled_reason == "Label 'Old' was deleted from Gmail"
        (mended,) = read_rule_document({**STAR, "then": {"actions": [{"apply_label": made[1]}]}})
        kept_rules.mend(tx, org_id, off.rule_id, mended)
        assert [one.name for one in rules.of_account(tx, here).rules] == ["Anna"]
        assert labels.describe(tx, here, made[1], description="what Anna sends", for_classifier=True)

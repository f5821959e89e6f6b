"""Rules decide first, the model asks for what is offered, and the safety policy binds both."""

from typing import Any

from domain.mail.account_settings import parse_settings
from domain.mail.rule_language.rule_file import read_rule_document
from domain.mail.rule_language.rules import TOO_COSTLY
from domain.mail.triage.prompts import RuleScope
from domain.payloads.mail_address import Address
from sandbox.emulator.control import MessagePlace
from storage.mail import decisions
from storage.mail.accounts import accounts
from storage.mail.actions import actions
from storage.mail.rules import directions, kept_rules, owner_settings, rules
from storage.mail.rules.rules import Reach
from tests.doubles.mail_environment import MailEnvironment

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


def test_a_rule_decides_first_and_for_certain(env: MailEnvironment) -> None:
    write(env, STAR)
    place = take(env)
    assert outcome(env, place) == ("deterministic", "fyi", 1.0, [("archive", "goes")])
    assert env.model.journal("messages.create") == []


def test_the_safety_policy_is_data_and_binds_both_paths(env: MailEnvironment) -> None:
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


def test_the_model_may_ask_only_for_what_the_account_offers(env: MailEnvironment) -> None:
    env.say(input_update={"actions": ["trash"]})
    refused = take(env, "For your information only.")
    assert outcome(env, refused)[1] == "needs_review"
    with env.process.database.ledger() as tx:
        accounts.save_settings(tx, env.account.account_id, parse_settings({"model_actions": ["trash"]}).changes())
    env.say(input_update={"actions": ["trash"]})
    offered = take(env, "For your information only.")
    assert outcome(env, offered)[3] == [("trash", "goes")]


def test_directions_and_rules_of_all_scopes_reach_the_model(env: MailEnvironment) -> None:
    account_id, org_id = env.account.account_id, env.account.org_id
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
        directions.add(tx, org_id, Reach(RuleScope.DOMAIN, account_id, "example.com"), "a direction")
    anna = Address("Anna", "anna@example.com")
    with env.process.database.tenant(org_id) as tx:
        found = rules.guidance(tx, account_id, anna).answer
        unknown = rules.guidance(tx, account_id, None).answer
    assert [one.text for one in found.rules] == [
        f"the {scope} rule" for scope in ("global", "account", "domain", "sender")
    ]
    assert found.directions == ("a direction",)
    assert [one.text for one in unknown.rules] == ["the global rule", "the account rule"]


def test_a_rule_that_would_cost_too_much_is_passed_over_and_the_output_says_so(env: MailEnvironment) -> None:
    costly = {"any": [{"body": {"matches": f"(a|b)*a(a|b){{{n}}}c"}} for n in range(200, 220)]}
    write(env, {"name": "costly", "priority": 1, "when": costly, "then": {"class": "action_required"}}, STAR)
    place = take(env, "ab" * 50_000)
    assert outcome(env, place)[:2] == ("deterministic", "fyi")
    with env.process.database.ledger() as tx:
        rows = tx.raw("select output from jobs where job_type = 'triage.classify' and output ? 'rules_skipped'")
    assert [row.output["rules_skipped"]["count"] for row in rows] == [1]
    assert rows[0].output["rules_skipped"]["first"][0]["reason"] == TOO_COSTLY

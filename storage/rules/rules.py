"""What the owner has said about mail: rules, rules in plain words for the model, and standing orders to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import JsonObject
from domain.mail.parsing.parsed_message import Address
from domain.mail.triage.prompts import Guidance, LanguageRule, RuleScope, rules_in_scope
from domain.mail.triage.rules import Rule, parse_rule
from storage.postgres.database import Transaction
from storage.postgres.execution import Row


@dataclass(frozen=True, slots=True)
class StoredRules:
    """The rules that apply to an account, by priority, and those that can no longer be read, each with the reason."""

    rules: tuple[Rule, ...]
    broken: tuple[tuple[UUID, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a rule in plain words or a direction goes; `ref` is a domain or an address."""

    scope: RuleScope = RuleScope.GLOBAL
    account_id: UUID | None = None
    ref: str | None = None


def add(tx: Transaction, org_id: UUID, rule: Rule, *, account_id: UUID | None = None) -> UUID:
    """Save a checked rule of an account or, without one, of the org. The rule's own id and scope are not kept."""
    definition = definition_of(rule)
    columns = {"name": rule.name, "priority": rule.priority, "enabled": rule.enabled}
    rows = tx.run("add_rule", org_id=org_id, account_id=account_id, definition=Jsonb(definition), **columns)
    return _made(rows, org_id)


def of_account(tx: Transaction, account_id: UUID, *, disabled_too: bool = False) -> StoredRules:
    """An account's own rules and its org's; one broken rule must not stop the others."""
    rules: list[Rule] = []
    broken: list[tuple[UUID, str]] = []
    for row in tx.run("list_rules", account_id=account_id, disabled_too=disabled_too):
        try:
            rules.append(rule_of(row))
        except Invalid as error:
            broken.append((row.rule_id, error.reason))
    return StoredRules(tuple(rules), tuple(broken))


def switch(tx: Transaction, rule_id: UUID, *, enabled: bool, reason: str | None = None) -> bool:
    """Turn a rule on or off; the reason is for its owner. False when there is no such rule."""
    return bool(tx.run("switch_rule", rule_id=rule_id, enabled=enabled, reason=None if enabled else reason))


def add_in_words(
    tx: Transaction, org_id: UUID, reach: Reach, *, name: str, content: str, label_ids: tuple[str, ...] = ()
) -> UUID:
    """Save a rule in plain words; `label_ids` are the labels it names."""
    values = {"name": name, "content": content, "label_ids": list(label_ids)}
    return _made(tx.run("add_llm_rule", org_id=org_id, **_reach(reach), **values), org_id)


def switch_in_words(tx: Transaction, rule_id: UUID, *, enabled: bool, reason: str | None = None) -> bool:
    """Turn a rule in plain words on or off; false when there is no such rule."""
    return bool(tx.run("switch_llm_rule", rule_id=rule_id, enabled=enabled, reason=None if enabled else reason))


def add_direction(tx: Transaction, org_id: UUID, reach: Reach, *, content: str) -> UUID:
    """Save a standing order to the model."""
    return _made(tx.run("add_direction", org_id=org_id, content=content, **_reach(reach)), org_id)


def guidance(tx: Transaction, account_id: UUID, sender: Address | None) -> Guidance:
    """The directions and rules in plain words in scope for a message of this sender, widest first, none twice."""
    of = {"domain": sender.domain if sender else "", "sender": sender.key if sender else ""}
    directions = tx.run("list_directions", account_id=account_id, **of)
    rows = tx.run("list_llm_rules", account_id=account_id, **of)
    rules = [LanguageRule(str(row.id), RuleScope(row.scope), row.content, row.scope_ref) for row in rows]
    return Guidance(
        directions=tuple(dict.fromkeys(row.content for row in directions)),
        rules=rules_in_scope(rules, str(account_id), sender),
    )


def definition_of(rule: Rule) -> JsonObject:
    """What is stored of a rule as a document; the rest has columns."""
    return rule.model_dump(mode="json", include={"condition", "decision", "stop"}, exclude_none=True)


def rule_of(row: Row) -> Rule:
    """The rule in a row that has the columns of `list_rules.sql`; raises `Invalid`."""
    facts = {"rule_id": str(row.rule_id), "name": row.name, "priority": row.priority, "enabled": row.enabled}
    scope = "org" if row.account_id is None else "account"
    return parse_rule({**row.definition, **facts, "scope": scope, "disabled_reason": row.disabled_reason})


def _reach(reach: Reach) -> dict[str, object]:
    return {"scope": str(reach.scope), "account_id": reach.account_id, "scope_ref": reach.ref}


def _made(rows: Sequence[Row], org_id: UUID) -> UUID:
    if not rows:
        raise Gone(f"there is no org {org_id}")
    return UUID(str(rows[0].id))

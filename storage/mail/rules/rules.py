"""What the owner has said about mail: rules, rules in plain words for the model, and standing orders to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.mail.rule_language.rules import Rule, parse_rule
from domain.mail.triage.prompts import Guidance, LanguageRule, RuleScope, rules_in_scope
from domain.payloads.mail_address import Address, address_key, domain_key
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked, Made

RuleKind = Literal["when", "tell", "direction"]
"""Rules with conditions, rules in plain words for the model, and standing orders to it."""

DEFAULT_PRIORITY = 100

MOST_READ = 1_500
"""Rules that are read for a message: as many as an org may keep, whatever a handler's SQL has added."""


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

    @property
    def key(self) -> str | None:
        """The domain or the address as they are compared."""
        if self.ref is None:
            return None
        return domain_key(self.ref) if self.scope is RuleScope.DOMAIN else address_key(self.ref)


def add(tx: Transaction, org_id: UUID, rule: Rule, *, account_id: UUID | None = None) -> UUID:
    """Save a checked rule of an account or, without one, of the org. The rule's own id and scope are not kept."""
    return insert(tx, org_id, columns_of_rule(rule, account_id))


def add_direction(tx: Transaction, org_id: UUID, reach: Reach, *, content: str) -> UUID:
    """Save a standing order to the model."""
    return insert(tx, org_id, columns_of_words("direction", reach, content))


def insert(tx: Transaction, org_id: UUID, columns: Mapping[str, object]) -> UUID:
    """Save a rule of any kind; raises `Gone` for an org that is not there."""
    return UUID(str(tx.one("add_rule", f"there is no org {org_id}", org_id=org_id, **columns).id))


def columns_of_rule(rule: Rule, account_id: UUID | None) -> dict[str, object]:
    """What is stored of a rule with conditions."""
    definition = rule.model_dump(mode="json", exclude_defaults=True, include={"condition", "decision", "stop"})
    return {
        "kind": "when",
        "account_id": account_id,
        "scope": "global" if account_id is None else "account",
        "scope_ref": None,
        "name": rule.name,
        "priority": rule.priority,
        "definition": Jsonb(definition),
        "content": None,
        "enabled": rule.enabled,
    }


def columns_of_words(
    kind: RuleKind,
    reach: Reach,
    content: str,
    *,
    name: str | None = None,
    label_ids: Sequence[str] = (),
    enabled: bool = True,
) -> dict[str, object]:
    """What is stored of a rule in plain words, or of a direction."""
    labels: JsonObject = {"labels": list(label_ids)} if label_ids else {}
    return {
        "kind": kind,
        "account_id": reach.account_id,
        "scope": str(reach.scope),
        "scope_ref": reach.key,
        "name": name,
        "priority": DEFAULT_PRIORITY,
        "definition": Jsonb(labels),
        "content": content,
        "enabled": enabled,
    }


def of_account(tx: Transaction, account_id: UUID) -> Asked[StoredRules]:
    """An account's own rules with conditions and its org's; one broken rule must not stop the others."""
    return _in_force(tx, _stored, account_id, None, "when")


def _stored(rows: Sequence[Row]) -> StoredRules:
    rules: list[Rule] = []
    broken: list[tuple[UUID, str]] = []
    for row in rows:
        try:
            rules.append(rule_of(row))
        except Invalid as error:
            broken.append((row.rule_id, error.reason))
    return StoredRules(tuple(rules), tuple(broken))


def guidance(tx: Transaction, account_id: UUID, sender: Address | None) -> Asked[Guidance]:
    """The directions and rules in plain words in scope for a message of this sender, widest first, none twice."""

    def in_scope(rows: Sequence[Row]) -> Guidance:
        rules = [
            LanguageRule(str(row.rule_id), RuleScope(row.scope), row.content, row.scope_ref)
            for row in rows
            if row.kind == "tell"
        ]
        return Guidance(
            directions=tuple(dict.fromkeys(row.content for row in rows if row.kind == "direction")),
            rules=rules_in_scope(rules, str(account_id), sender),
        )

    return _in_force(tx, in_scope, account_id, sender, "tell", "direction")


def rule_of(row: Row) -> Rule:
    """The rule in a row that has the columns of `list_rules`; raises `Invalid`."""
    facts = {"rule_id": str(row.rule_id), "name": row.name, "priority": row.priority, "enabled": row.enabled}
    scope = "org" if row.account_id is None else "account"
    reason = {} if row.disabled_reason is None else {"disabled_reason": row.disabled_reason}
    return parse_rule({**row.definition, **facts, **reason, "scope": scope})


def _in_force(
    tx: Transaction,
    make: Callable[[Sequence[Row]], Made],
    account_id: UUID,
    sender: Address | None,
    *kinds: RuleKind,
) -> Asked[Made]:
    of = {"domain": sender.domain if sender else "", "sender": sender.key if sender else ""}
    return tx.ask("list_rules", make, account_id=account_id, kinds=list(kinds), limit=MOST_READ, **of)

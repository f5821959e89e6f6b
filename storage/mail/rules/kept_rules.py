"""Rules of both kinds as their owners keep them: added, listed with the reason why one is off, mended, removed.

Every statement here names the org, for the entry points write as the ledger, beside the audit log's entry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from domain.jobs.contract import check_text
from domain.jobs.failures import Conflict, Forbidden, Gone, Invalid
from domain.mail.rule_language.rule_words import ToldRule, WrittenRule
from domain.mail.rule_language.rules import Rule
from domain.mail.triage.prompts import RuleScope
from storage.mail.rules import rules
from storage.mail.rules.rules import Reach, RuleKind, columns_of_rule, columns_of_words, rule_of
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

MOST_KEPT = 1_000
"""Rules of an org. Every message reads and tries those of its account."""

MOST_BYTES = 2_000_000
"""Bytes of an org's rules together. Every message reads those of its account."""

LONGEST_REASON = 300
"""Characters of why a rule is off."""

KINDS: tuple[RuleKind, ...] = ("when", "tell")
"""What is kept as a rule; directions have a module of their own."""


@dataclass(frozen=True, slots=True)
class KeptRule:
    """A rule with how it stands. `rule` is None where what is stored can no longer be read; `broken` says why."""

    rule_id: UUID
    kind: RuleKind
    account_id: UUID | None
    name: str
    enabled: bool
    disabled_reason: str | None
    label_ids: tuple[str, ...]
    rule: WrittenRule | None
    broken: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def document(self) -> Mapping[str, Any] | None:
        """The rule as it is written."""
        return None if self.rule is None else self.rule.document


def add(
    tx: Transaction, org_id: UUID, account_id: UUID | None, written: Sequence[WrittenRule], *, most: int = MOST_KEPT
) -> tuple[UUID, ...]:
    """Save rules of an account or, without one, of the org; raises `Forbidden` above what an org may keep."""
    added = tuple(rules.insert(tx, org_id, _columns(rule, account_id)) for rule in written)
    refuse_more(tx, org_id, KINDS, most)
    return added


def refuse_more(tx: Transaction, org_id: UUID, kinds: Sequence[RuleKind], most: int) -> None:
    """Raise `Forbidden` where an org's rules of these kinds have become too many, or too long together.

    After they were written, for whoever writes others meanwhile waits here, and sees these.
    """
    tx.raw("select pg_advisory_xact_lock(hashtextextended('postroom rules: ' || %(org)s, 0))", {"org": str(org_id)})
    (kept,) = tx.run("count_rules", org_id=org_id, kinds=list(kinds))
    if kept.rules > most:
        raise Forbidden(f"an org keeps at most {most} {'directions' if 'direction' in kinds else 'rules'}")
    if kept.bytes > MOST_BYTES:
        raise Forbidden(f"an org keeps rules of at most {MOST_BYTES:,} bytes together")


def listed(
    tx: Transaction,
    org_id: UUID,
    *,
    account_id: UUID | None = None,
    enabled: bool | None = None,
    limit: int = MOST_KEPT,
) -> tuple[KeptRule, ...]:
    """An org's rules; with an account, those that apply to it."""
    return _kept(tx, org_id, account_id=account_id, enabled=enabled, rule_id=None, limit=limit)


def get(tx: Transaction, org_id: UUID, rule_id: UUID) -> KeptRule:
    """One rule; raises `Gone` when the org has none of that id."""
    found = _kept(tx, org_id, account_id=None, enabled=None, rule_id=rule_id, limit=1)
    if not found:
        raise Gone(f"there is no rule {rule_id}")
    return found[0]


def org_of(tx: Transaction, rule_id: UUID) -> UUID:
    """Whose rule it is, for operators, who see every org's; raises `Gone`."""
    return UUID(str(tx.one("find_org_of_rule", f"there is no rule {rule_id}", rule_id=rule_id).org_id))


def mend(tx: Transaction, org_id: UUID, rule_id: UUID, written: WrittenRule) -> None:
    """Put another rule of the same kind in the place of one; it is on again unless it says otherwise."""
    kept = get(tx, org_id, rule_id)
    columns = _columns(written, kept.account_id)
    if columns["kind"] != kept.kind:
        raise Invalid(
            "rule", f"is of the other kind: {rule_id} begins with {kept.kind}; remove it, and add the new one"
        )
    tx.run("replace_rule", org_id=org_id, rule_id=rule_id, **columns)
    refuse_more(tx, org_id, KINDS, MOST_KEPT)


def turn(tx: Transaction, org_id: UUID, rule_id: UUID, *, on: bool, reason: str | None = None) -> None:
    """Turn a rule on or off; raises `Gone`, and `Conflict` when a label that it names has vanished."""
    told = None if on or reason is None else check_text("reason", reason, LONGEST_REASON)
    kept = get(tx, org_id, rule_id)
    if on and kept.broken is not None:
        raise Conflict(f"the rule can no longer be read: {kept.broken}; replace it")
    if on:
        _refuse_vanished(tx, org_id, kept)
    tx.run("turn_rule", org_id=org_id, rule_id=rule_id, enabled=on, reason=told)


def remove(tx: Transaction, org_id: UUID, rule_id: UUID) -> None:
    """Remove a rule; raises `Gone`."""
    tx.one("remove_rule", f"there is no rule {rule_id}", org_id=org_id, rule_id=rule_id, kinds=list(KINDS))


def _refuse_vanished(tx: Transaction, org_id: UUID, kept: KeptRule) -> None:
    ids = list(kept.label_ids)
    gone = tx.run("find_vanished_labels", org_id=org_id, account_id=kept.account_id, ids=ids) if ids else ()
    if gone:
        names = ", ".join(f"{row.name or row.label_id!r}" for row in gone[:5])
        raise Conflict(f"the rule names labels that are not there: {names}; replace it with one that names others")


def _columns(written: WrittenRule, account_id: UUID | None) -> dict[str, object]:
    if isinstance(written, Rule):
        return columns_of_rule(written, account_id)
    reach, name = _reach(written, account_id), written.name
    return columns_of_words(
        "tell", reach, written.content, name=name, label_ids=written.labels, enabled=written.enabled
    )


def _reach(rule: ToldRule, account_id: UUID | None) -> Reach:
    """A global rule is the whole org's; one of an account needs one; the others go as far as the entry point says."""
    if rule.scope is RuleScope.GLOBAL:
        return Reach()
    if rule.scope is RuleScope.ACCOUNT and account_id is None:
        raise Invalid("for", "is account, but no account was named; name one, or write `for: global`")
    return Reach(rule.scope, account_id, rule.ref)


def _kept(
    tx: Transaction, org_id: UUID, *, account_id: UUID | None, enabled: bool | None, rule_id: UUID | None, limit: int
) -> tuple[KeptRule, ...]:
    where = {"account_id": account_id, "enabled": enabled, "rule_id": rule_id, "limit": limit}
    return tuple(_of(row) for row in tx.run("list_kept_rules", org_id=org_id, kinds=list(KINDS), **where))


def _of(row: Row) -> KeptRule:
    rule, broken = _rule(row)
    return KeptRule(
        rule_id=row.rule_id,
        kind=row.kind,
        account_id=row.account_id,
        name=row.name,
        enabled=row.enabled,
        disabled_reason=row.disabled_reason,
        label_ids=tuple(row.label_ids),
        rule=rule,
        broken=broken,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _rule(row: Row) -> tuple[WrittenRule | None, str | None]:
    if row.kind == "tell":
        scope = RuleScope(row.scope)
        return ToldRule.of(row.name, row.content, scope, row.scope_ref, row.label_ids, enabled=row.enabled), None
    try:
        return rule_of(row), None
    except Invalid as error:
        return None, error.reason[:300]

"""Rules: written as documents, on or off, mended and removed."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from domain.documents.faults import RefusedDocument
from domain.jobs.failures import Invalid
from domain.mail.rule_language.rule_context import UNCHECKED
from domain.mail.rule_language.rule_file import read_rule_document, read_rule_file
from domain.mail.rule_language.rule_words import WrittenRule
from domain.mail.rule_language.rules import Rule
from domain.orgs.access.api_keys import Role
from operations.call import Call
from operations.mail.accounts import target_of, target_to_write
from operations.operation import Area, File, Option, Reason, Record, Route
from operations.pages import Page
from storage.mail.rules import kept_rules
from storage.mail.rules.kept_rules import KeptRule
from storage.mail.rules.rule_contexts import Read, read_checked
from storage.postgres.database import Transaction

RULES = Area("rules", "Write rules, try them on past mail, turn them on and off.")
Written = tuple[WrittenRule, ...]
WITHOUT_REASON = "turned off without a reason"


class AddedRule(Record):
    """A rule that was saved."""

    plural: ClassVar = "rules"
    rule_id: UUID
    name: str


class RuleView(Record):
    """A rule of the org."""

    plural: ClassVar = "rules"
    columns: ClassVar = ("rule_id", "kind", "account_id", "name", "priority", "enabled", "why_off", "broken")

    rule_id: UUID
    kind: Literal["when", "tell"] = Field(description="`when`: by conditions; `tell`: in words, for the model.")
    account_id: UUID | None = Field(description="The mailbox it is for; null for all of the org's.")
    name: str
    priority: int | None = Field(description="Null for a rule in words.")
    enabled: bool
    why_off: str | None = Field(description="Why it is off: a person's reason, or the label that vanished.")
    broken: str | None = Field(description="Why it cannot be read, and is passed over; null for a rule that can.")
    rule: dict[str, Any] | None = Field(description="The rule as it is written; null for a broken one.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, kept: KeptRule) -> "RuleView":
        """A stored rule as people see it."""
        return cls(
            rule_id=kept.rule_id,
            kind=kept.kind,
            account_id=kept.account_id,
            name=kept.name,
            priority=kept.rule.priority if isinstance(kept.rule, Rule) else None,
            enabled=kept.enabled,
            why_off=kept.disabled_reason,
            broken=kept.broken,
            rule=None if kept.document is None else dict(kept.document),
            created_at=kept.created_at,
            updated_at=kept.updated_at,
        )


@RULES.look("list", Route("GET", "/rules"), org="optional")
def list_rules(
    call: Call,
    *,
    account_id: Annotated[UUID | None, Field(description="Only rules that apply to this mailbox.")] = None,
    enabled: Annotated[bool | None, Field(description="Only rules that are on, or off."), Option("--on/--off")] = None,
) -> Page[RuleView]:
    """List the rules of an org, or those that apply to a mailbox. Those that a vanished label turned off say so."""
    with call.reading() as tx:
        org_id = target_of(tx, account_id, call.org_id).org_id
        found = kept_rules.listed(tx, org_id, account_id=account_id, enabled=enabled)
    return Page([RuleView.of(one) for one in found], None)


@RULES.look("show", Route("GET", "/rules/{rule_id}"))
def read_rule(call: Call, rule_id: UUID) -> RuleView:
    """Show a rule as it is written, so that it can be changed and given to `rules replace`."""
    with call.reading() as tx:
        return _view(tx, _org(tx, call, rule_id), rule_id)


@RULES.deed(
    "add",
    Route("POST", "/rules", document="RuleDocuments"),
    role=Role.WRITER,
    org="optional",
    events=("rules.added",),
    keyed=True,
)
def add_rules(
    call: Call,
    document: object,
    *,
    account_id: Annotated[UUID | None, Field(description="The mailbox; without it, all of the org's.")] = None,
) -> Page[AddedRule]:
    """Save rules: all of them, or none when one has a mistake. HTTP names a mistake by its JSON pointer in `field`.

    The command reads YAML from a file, or from standard input for `-`, and says line and column of each mistake.
    """
    read = reader(document)
    with call.reading() as tx:
        org_id = target_of(tx, account_id, call.org_id).org_id
    written, refused = _attempt(partial(read_checked, call.reading, org_id, account_id, read))
    with call.writing() as tx:

        def make() -> tuple[UUID, ...]:
            target_to_write(tx, account_id, call.org_id)
            if refused is not None:
                raise refused
            made = kept_rules.add(tx, org_id, account_id, written)
            facts = {"rules": [str(one) for one in made], "account_id": account_id and str(account_id)}
            call.audit(tx, org_id, facts)
            return made

        made = call.once(tx, make)
    # A label that has vanished since an earlier request does not change what was saved, nor what the rules are called.
    named = zip(made, written or read(UNCHECKED), strict=True)
    return Page([AddedRule(rule_id=rule_id, name=rule.name) for rule_id, rule in named], None)


@RULES.deed(
    "replace",
    Route("PUT", "/rules/{rule_id}", document="RuleDocument"),
    role=Role.WRITER,
    events=("rule.replaced",),
)
def replace_rule(call: Call, rule_id: UUID, document: object) -> RuleView:
    """Put another rule in the place of one; this is how a rule is mended whose label has vanished."""
    with call.reading() as tx:
        org_id = _org(tx, call, rule_id)
        account_id = kept_rules.get(tx, org_id, rule_id).account_id
    written = read_checked(call.reading, org_id, account_id, reader(document))
    if len(written) != 1:
        raise Invalid("/", "one rule takes the place of one")
    with call.writing() as tx:
        kept_rules.mend(tx, org_id, rule_id, written[0])
        call.audit(tx, org_id, {"rule_id": str(rule_id)})
        return _view(tx, org_id, rule_id)


@RULES.deed("enable", Route("POST", "/rules/{rule_id}/enable"), role=Role.WRITER, events=("rule.enabled",))
def enable_rule(call: Call, rule_id: UUID) -> RuleView:
    """Turn a rule on; refused while it names a label that is not there: replace the rule then."""
    with call.writing() as tx:
        org_id = _org(tx, call, rule_id)
        kept_rules.turn(tx, org_id, rule_id, on=True)
        call.audit(tx, org_id, {"rule_id": str(rule_id)})
        return _view(tx, org_id, rule_id)


@RULES.deed("disable", Route("POST", "/rules/{rule_id}/disable"), role=Role.WRITER, events=("rule.disabled",))
def disable_rule(call: Call, rule_id: UUID, *, reason: Reason = None) -> RuleView:
    """Turn a rule off; the reason is kept with it."""
    why = WITHOUT_REASON if reason is None else reason
    with call.writing() as tx:
        org_id = _org(tx, call, rule_id)
        kept_rules.turn(tx, org_id, rule_id, on=False, reason=why)
        call.audit(tx, org_id, {"rule_id": str(rule_id), "reason": why})
        return _view(tx, org_id, rule_id)


@RULES.deed("remove", Route("DELETE", "/rules/{rule_id}"), role=Role.WRITER, events=("rule.removed",))
def remove_rule(call: Call, rule_id: UUID) -> RuleView:
    """Remove a rule, and answer with it as it was. The audit log keeps it as it was written."""
    with call.writing() as tx:
        org_id = _org(tx, call, rule_id)
        removed = _view(tx, org_id, rule_id)
        kept_rules.remove(tx, org_id, rule_id)
        call.audit(tx, org_id, {"rule_id": str(rule_id), "rule": removed.rule})
    return removed


def reader(document: object) -> Read:
    """How the rules of a YAML file, or of a JSON document, are read."""
    if isinstance(document, File):
        return partial(read_rule_file, document.data, document.name)
    return partial(read_rule_document, document)


def _attempt(make: Callable[[], Written]) -> tuple[Written, RefusedDocument | None]:
    """The rules, or why they are refused: a request that was made before is answered all the same."""
    try:
        return make(), None
    except RefusedDocument as refused:
        return (), refused


def _org(tx: Transaction, call: Call, rule_id: UUID) -> UUID:
    """Whose rule it is: the caller's org, for no other sees it; or for an operator the rule's own."""
    return call.org_id or kept_rules.org_of(tx, rule_id)


def _view(tx: Transaction, org_id: UUID, rule_id: UUID) -> RuleView:
    return RuleView.of(kept_rules.get(tx, org_id, rule_id))

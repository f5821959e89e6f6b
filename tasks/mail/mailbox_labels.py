"""Our labels in a mailbox: made on demand under one parent, and stored as Gmail lists them."""

from collections.abc import Collection, Sequence
from functools import partial

from domain.jobs.effects import Strategy
from domain.jobs.failures import Conflict, Permanent
from domain.jobs.job import JsonObject
from domain.mail.correspondence import LabelRole, label_key, label_name, match_roles
from domain.mail.mailbox import MailboxLabel
from engine.context import JobContext
from providers.ports import Mailbox
from storage.accounts import labels
from storage.accounts.accounts import Account
from storage.accounts.labels import Synced
from storage.ledger import audit
from storage.postgres.database import Transaction


def store(ctx: JobContext, tx: Transaction, account: Account, listed: Sequence[MailboxLabel]) -> Synced:
    """Store the labels as Gmail lists them now; rules that name a vanished one are disabled, with an audit entry."""
    found = labels.sync(tx, account.account_id, listed)
    for role, label_id in match_roles(listed, account.settings.label_parent).items():
        labels.assign_role(tx, account.account_id, label_id, role)
    for rule_id in sorted(found.disabled_rules):
        audit.append(tx, ctx.job, "rule.disabled", {"rule_id": str(rule_id), "why": "its label was deleted"})
    return found


def create(ctx: JobContext, mailbox: Mailbox, account: Account, roles: Collection[LabelRole]) -> dict[LabelRole, str]:
    """Make labels of ours, parent first, and store them; returns the ids of these and of all others that were found."""
    parent = account.settings.label_parent
    for name in (parent, *(label_name(role, parent) for role in sorted(roles))):
        key = f"label:{account.account_id}:{name}:{ctx.job.job_id}"
        ctx.effect(key, partial(_create, mailbox, name), strategy=Strategy.IDEMPOTENT)
    listed = mailbox.labels()
    matched = _look_alikes(listed, roles, parent) | match_roles(listed, parent)
    if not matched.keys() >= set(roles):
        raise Permanent(f"Gmail neither has nor makes the labels under {parent}", code="labels.refused")
    with ctx.tx() as tx:
        labels.add(tx, account.account_id, listed)
        for role, label_id in matched.items():
            labels.assign_role(tx, account.account_id, label_id, role)
    return matched


def have_changed(ctx: JobContext, mailbox: Mailbox, account: Account, used: frozenset[str]) -> bool:
    """Whether Gmail no longer lists some of the labels; if so they are stored as deleted, to be created again."""
    listed = mailbox.labels()
    if used <= {one.label_id for one in listed}:
        return False
    with ctx.tx() as tx:
        store(ctx, tx, account, listed)
    return True


def _look_alikes(listed: Sequence[MailboxLabel], roles: Collection[LabelRole], parent: str) -> dict[LabelRole, str]:
    """Labels that Gmail takes for ours because a hyphen stands for the slash (docs: gmail.md#labels)."""
    wanted = {_as_gmail_compares(label_name(role, parent)): role for role in roles}
    found = {wanted.get(_as_gmail_compares(one.name)): one.label_id for one in listed if one.kind == "user"}
    return {role: label_id for role, label_id in found.items() if role is not None}


def _as_gmail_compares(name: str) -> str:
    return label_key(name).replace("/", "-")


def _create(mailbox: Mailbox, name: str) -> JsonObject:
    try:
        made: MailboxLabel = mailbox.create_label(name)
    except Conflict:
        # Gmail takes look-alikes for the same name; the listing that follows finds which one it has.
        return {"name": name, "made": False}
    return {"name": name, "made": True, "label_id": made.label_id}

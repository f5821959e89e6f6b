"""Our labels in a mailbox: made on demand under one parent, and stored as Gmail lists them."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial

from domain.jobs.effects import Strategy
from domain.jobs.failures import Busy, Conflict, Failure, Permanent
from domain.jobs.job import JsonObject
from domain.mail.correspondence import LabelRole, label_key, label_name, match_roles
from domain.mail.mailbox import MailboxLabel
from engine.beside_failure import beside_failure
from engine.context import JobContext
from providers.ports import Mailbox
from storage.jobs import audit
from storage.mail.accounts import label_lease, labels
from storage.mail.accounts.accounts import Account
from storage.mail.accounts.labels import Synced
from storage.postgres.database import Transaction

LEASE = timedelta(seconds=20)
"""How long the others wait for a job that makes labels and does not come back: it makes seven, a second each."""

LOOK_AGAIN_AFTER = timedelta(seconds=2)


def store(ctx: JobContext, tx: Transaction, account: Account, listed: Sequence[MailboxLabel]) -> Synced:
    """Store the labels as Gmail lists them now; rules that name a vanished one are disabled, with an audit entry."""
    found = labels.sync(tx, account.account_id, listed)
    for role, label_id in match_roles(listed, account.settings.label_parent).items():
        labels.assign_role(tx, account.account_id, label_id, role)
    for rule_id in sorted(found.disabled_rules):
        audit.append(tx, ctx.job, "rule.disabled", {"rule_id": str(rule_id), "why": "its label was deleted"})
    return found


def never_made(tx: Transaction, account: Account) -> frozenset[LabelRole]:
    """Labels of ours that the mailbox never had.

    One that its person has deleted is not among them: a job makes that label when it needs one.
    """
    return frozenset(set(LabelRole) - labels.roles_ever(tx, account.account_id))


def bring_up_to_date(ctx: JobContext, mailbox: Mailbox, account: Account, missing: Collection[LabelRole]) -> JsonObject:
    """Make what is missing, and store the labels as Gmail lists them; returns what was found."""
    if missing:
        create(ctx, mailbox, account, missing)
    listed = mailbox.labels()
    with ctx.tx() as tx:
        found = store(ctx, tx, account, listed)
    return {"labels": len(listed), "vanished": len(found.vanished), "disabled_rules": len(found.disabled_rules)}


def create(ctx: JobContext, mailbox: Mailbox, account: Account, roles: Collection[LabelRole]) -> dict[LabelRole, str]:
    """Make those labels of ours that the mailbox lacks, parent first; returns the ids of all that are known then.

    One job of an account at a time does so. Raises `Busy` while another does: the job comes back without an attempt
    used, and finds the labels.
    """
    account_id, owner = account.account_id, ctx.job.token
    with ctx.tx() as tx:
        leads = label_lease.take(tx, account_id, owner=owner, lease=LEASE)
        known = labels.ids_by_role(tx, account_id)
        if known.keys() >= set(roles):
            # Made since this job read them, or by this job before it died.
            label_lease.release(tx, account_id, owner=owner)
            return known
    if not leads:
        raise Busy("another job makes the mailbox's labels", wait=LOOK_AGAIN_AFTER)
    try:
        return _make(ctx, mailbox, account, roles)
    except Failure:
        with beside_failure("label_lease"), ctx.tx() as tx:
            label_lease.release(tx, account_id, owner=owner)
        raise


def _make(ctx: JobContext, mailbox: Mailbox, account: Account, roles: Collection[LabelRole]) -> dict[LabelRole, str]:
    """List, make what is missing, list again, store, and end the lease with that: a replay would not take it again."""
    parent = account.settings.label_parent
    listed = mailbox.labels()
    wanted = (parent, *(label_name(role, parent) for role in sorted(roles)))
    there = {_as_gmail_compares(one.name) for one in listed}
    # Also where all are there: an attempt that died may have made them and not recorded that.
    what = f"{parent}/{','.join(sorted(roles))}"
    make(ctx, mailbox, account, what, [name for name in wanted if _as_gmail_compares(name) not in there])
    if not there.issuperset(map(_as_gmail_compares, wanted)):
        listed = mailbox.labels()
    matched = _look_alikes(listed, roles, parent) | match_roles(listed, parent)
    if not matched.keys() >= set(roles):
        raise Permanent(f"Gmail neither has nor makes the labels under {parent}", code="labels.refused")
    with ctx.tx() as tx:
        labels.add(tx, account.account_id, listed)
        for role, label_id in matched.items():
            labels.assign_role(tx, account.account_id, label_id, role)
        label_lease.release(tx, account.account_id, owner=ctx.job.token)
    return matched


def make(ctx: JobContext, mailbox: Mailbox, account: Account, what: str, missing: Sequence[str]) -> None:
    """Make the labels that are missing of those that `what` names, parents first, as one effect of the job."""
    key = f"label:{account.account_id}:{what}:{ctx.job.job_id}"
    ctx.effect(key, partial(_create, mailbox, missing), strategy=Strategy.IDEMPOTENT)


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


def _create(mailbox: Mailbox, names: Sequence[str]) -> JsonObject:
    made: JsonObject = {}
    for name in names:
        # Gmail takes look-alikes for the same name; the listing that follows finds which one it has.
        with suppress(Conflict):
            made[name] = mailbox.create_label(name).label_id
    return made

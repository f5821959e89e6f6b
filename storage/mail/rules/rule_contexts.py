"""Reads rules that somebody wrote as what they name is there: labels, mailboxes, agents' profiles, the time."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from uuid import UUID

from domain.jobs.failures import Gone
from domain.mail.rule_language.label_names import LabelNames
from domain.mail.rule_language.rule_context import RuleContext, mailbox_of
from domain.mail.rule_language.rule_words import WrittenRule, forwarded_to, labels_named
from domain.payloads.mail_address import address_key
from storage.jobs import ledger
from storage.mail.accounts import accounts, labels
from storage.postgres.database import Transaction

Read = Callable[[RuleContext], tuple[WrittenRule, ...]]


Begin = Callable[[], AbstractContextManager[Transaction]]
"""Begins a transaction that may read what the org has."""


def read_checked(begin: Begin, org_id: UUID, account_id: UUID | None, read: Read) -> tuple[WrittenRule, ...]:
    """The rules as `read` reads them for a mailbox or, without one, for the whole org; outside of any transaction.

    Raises what `read` raises, and `Gone` for a mailbox that the org has not.
    """
    with begin() as tx:
        found = tx.run("list_profile_names", org_id=org_id, account_id=account_id)
        now, agents = ledger.read_time(tx), frozenset(row.name for row in found)
        account = None if account_id is None else accounts.get(tx, account_id)
        if account is not None and account.org_id != org_id:
            raise Gone(f"there is no account {account_id}")
        mailbox_labels = [] if account is None else labels.list_all(tx, account.account_id)
    if account is not None:
        names = LabelNames.of(one.label for one in mailbox_labels)
        return read(RuleContext(names, account.addresses, now, agents))
    # An org has up to 100,000 mailboxes: only what the rules name is looked for.
    written = read(RuleContext(now=now, profiles=agents))
    named, to = labels_named(written), forwarded_to(written)
    reached = sorted({form for one in to for form in (address_key(one), mailbox_of(one))})
    with begin() as tx:
        found = tx.run("find_vanished_labels", org_id=org_id, account_id=None, ids=list(named))
        own = frozenset(row.address for row in tx.run("find_own_addresses", org_id=org_id, addresses=reached))
    there = named - {row.label_id for row in found}
    return read(RuleContext(LabelNames.of_org(there), own, now, agents)) if named or own else written

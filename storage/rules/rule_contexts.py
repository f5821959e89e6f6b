"""Reads rules that somebody wrote as what they name is there: labels, mailboxes, agents' profiles, the time."""

from collections.abc import Callable
from uuid import UUID

from domain.jobs.failures import Gone
from domain.mail.rule_language.label_names import LabelNames
from domain.mail.rule_language.rule_context import RuleContext, mailbox_of
from domain.mail.rule_language.rule_words import WrittenRule, forwarded_to, labels_named
from storage.accounts import accounts, labels
from storage.agents import profiles
from storage.ledger import ledger
from storage.postgres.database import Transaction

Read = Callable[[RuleContext], tuple[WrittenRule, ...]]


def read_checked(tx: Transaction, org_id: UUID, account_id: UUID | None, read: Read) -> tuple[WrittenRule, ...]:
    """The rules as `read` reads them for a mailbox or, without one, for the whole org.

    Raises what `read` raises, and `Gone` for a mailbox that the org has not.
    """
    now, agents = ledger.read_time(tx), profiles.names(tx, org_id, account_id)
    if account_id is not None:
        account = accounts.get(tx, account_id)
        if account.org_id != org_id:
            raise Gone(f"there is no account {account_id}")
        names = LabelNames.of(one.label for one in labels.list_all(tx, account_id))
        return read(RuleContext(names, account.addresses, now, agents))
    # An org has up to 100,000 mailboxes: only what the rules name is looked for.
    written = read(RuleContext(now=now, profiles=agents))
    named, to = labels_named(written), forwarded_to(written)
    gone = {row.label_id for row in tx.run("find_vanished_labels", org_id=org_id, account_id=None, ids=list(named))}
    reached = sorted({form for one in to for form in (one.casefold(), mailbox_of(one))})
    own = frozenset(row.address for row in tx.run("find_own_addresses", org_id=org_id, addresses=reached))
    return read(RuleContext(LabelNames.of_org(named - gone), own, now, agents)) if named or own else written

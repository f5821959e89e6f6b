"""Tries a rule on an account's stored mail. Nothing is done, and nothing is written."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.job import JsonObject
from domain.mail.rule_language.trial import TriedRule, try_rule
from domain.mail.triage.automation import HUMAN
from domain.mail.triage.mail_facts import MailFacts
from domain.mail.triage.rules import Rule
from domain.mail.triage.safety import SafetyEnforcer
from storage.accounts import accounts
from storage.mail.messages import Message
from storage.postgres.database import Database
from storage.rules import past_mail, rules, safety
from storage.rules.past_mail import PastMessage

MOST_TRIED = 200
AT_ONCE = 10
WITHIN_S = 20.0
"""How long a trial may go on. Past it, the answer says how far it came; a page of mail is read in milliseconds, so
only slow patterns get there."""
LONGEST_SUBJECT = 200


@dataclass(frozen=True, slots=True)
class TriedMessage:
    """A past message, and what the rule would have done with it."""

    message_id: str
    thread_id: str
    received_at: datetime
    sender: str
    subject: str
    tried: TriedRule

    def document(self) -> JsonObject:
        """The message and the outcome as the doors show them."""
        tried = self.tried
        return {
            "message_id": self.message_id,
            "thread_id": self.thread_id,
            "received_at": self.received_at,
            "sender": self.sender,
            "subject": self.subject,
            "matched": tried.matched,
            "acts": tried.acts,
            "reason": tried.reason,
            "classification": tried.classification and tried.classification.value,
            "actions": [
                {
                    "kind": one.action.kind.value,
                    "status": one.status,
                    "danger": one.danger,
                    "reasons": list(one.reasons),
                }
                for one in tried.actions
            ],
            "route": tried.route,
            "note": tried.note,
        }


@dataclass(frozen=True, slots=True)
class RuleTrial:
    """The messages that were tried, the latest first; `complete` is false when the time was over before the mail."""

    examined: int
    matched: int
    complete: bool
    messages: tuple[TriedMessage, ...]

    def shown(self, *, show_all: bool) -> list[JsonObject]:
        """The messages that match, or all of them."""
        return [one.document() for one in self.messages if show_all or one.tried.matched]


def try_on_past_mail(
    database: Database,
    org_id: UUID,
    account_id: UUID,
    rule: Rule,
    *,
    clock: Callable[[], float],
    most: int = MOST_TRIED,
) -> RuleTrial:
    """Try a rule, saved or not, on an account's latest incoming messages; `clock` counts seconds.

    Mail is read by tens, each read in a transaction of its own, and judged outside of it. Raises `Gone` when the org
    has no such account.
    """
    with database.tenant(org_id) as tx:
        accounts.get(tx, account_id)
        others = rules.of_account(tx, account_id).rules
        enforcer = SafetyEnforcer(safety.of_account(tx, account_id))
    found: list[TriedMessage] = []
    last: Message | None = None
    until = clock() + WITHIN_S
    while len(found) < most:
        limit = min(AT_ONCE, most - len(found))
        with database.tenant(org_id) as tx:
            page = past_mail.earlier(tx, account_id, than=last, limit=limit)
        for past in page:
            if clock() > until:
                return _trial(found, complete=False)
            found.append(_tried(past, try_rule(rule, others, _facts(past), enforcer)))
        if len(page) < limit:
            break
        last = page[-1].message
    return _trial(found, complete=True)


def _trial(found: list[TriedMessage], *, complete: bool) -> RuleTrial:
    return RuleTrial(len(found), sum(one.tried.matched for one in found), complete, tuple(found))


def _facts(past: PastMessage) -> MailFacts:
    """The message as if it had just come; its labels are those that it carries now."""
    return MailFacts(
        message=past.message.parsed,
        automation=past.message.automation or HUMAN,
        label_ids=past.message.label_ids,
        first_contact=past.first_contact,
        thread_has_my_reply=past.thread_has_my_reply,
    )


def _tried(past: PastMessage, tried: TriedRule) -> TriedMessage:
    message = past.message
    sender = message.parsed.from_.address if message.parsed.from_ else ""
    return TriedMessage(
        message.message_id,
        message.thread_id,
        message.received_at,
        sender,
        message.parsed.subject[:LONGEST_SUBJECT],
        tried,
    )

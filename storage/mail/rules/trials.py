"""Tries a rule on an account's stored mail. Nothing is done, and nothing is written."""

from collections.abc import Callable
from uuid import UUID

from domain.mail.rule_language.rules import Rule
from domain.mail.rule_language.trial import PastMail, RuleTrial, TriedMessage, try_rule
from domain.mail.triage.safety import SafetyEnforcer
from storage.mail.accounts import accounts
from storage.mail.rules import past_mail, rules, safety
from storage.postgres.database import Database

MOST_TRIED = 200
AT_ONCE = 10
WITHIN_S = 20.0
"""How long a trial may go on. Past it, the answer says how far it came; a page of mail is read in milliseconds, so
only long texts under large patterns get there."""


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
        others = rules.of_account(tx, account_id).answer.rules
        enforcer = SafetyEnforcer(safety.of_account(tx, account_id).answer)
    found: list[TriedMessage] = []
    last: PastMail | None = None
    until = clock() + WITHIN_S
    while len(found) < most:
        limit = min(AT_ONCE, most - len(found))
        with database.tenant(org_id) as tx:
            page = past_mail.earlier(tx, account_id, than=last, limit=limit)
        for past in page:
            if clock() > until:
                return RuleTrial(tuple(found), complete=False)
            found.append(TriedMessage(past, try_rule(rule, others, past.facts, enforcer)))
        if len(page) < limit:
            break
        last = page[-1]
    return RuleTrial(tuple(found), complete=True)

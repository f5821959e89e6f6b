"""How fast each provider may be called: a table of facts with their sources, and when a full window has room again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from domain.jobs.failures import Invalid, Scope

MINUTE = timedelta(minutes=1)

REFILL = 10
"""A window that was full is left alone until a tenth of it is free again: jobs that came back for one call each would
be claimed, refused and put back over and over."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `amount` units of a provider in any window `per`.

    For each account, for each org that has credentials of its own, or for the whole installation.
    """

    name: str
    provider: str
    scope: Scope
    amount: int
    per: timedelta
    source: str
    """Where the figure comes from, and when an installation's own differs."""


LIMITS: tuple[Limit, ...] = (
    Limit(
        "gmail.user", "gmail", Scope.ACCOUNT, 6_000, MINUTE,
        "https://developers.google.com/workspace/gmail/api/reference/quota: quota units per user and minute of projects"
        " new since May 2026; older ones keep 15,000 for now",
    ),
    Limit(
        "gmail_backfill.user", "gmail_backfill", Scope.ACCOUNT, 2_000, MINUTE,
        "https://developers.google.com/workspace/gmail/api/reference/quota: a third of a user's units, ours: what older"
        " mail may take, so that two thirds are left for the mail of today. Counted beside gmail.user",
    ),
    Limit(
        "gmail.project", "gmail", Scope.PROVIDER, 1_200_000, MINUTE,
        "https://developers.google.com/workspace/gmail/api/reference/quota: quota units per project and minute",
    ),
    Limit(
        "anthropic.requests", "anthropic", Scope.PROVIDER, 1_000, MINUTE,
        "https://platform.claude.com/docs/en/api/rate-limits: requests per minute of the Start tier; higher tiers have"
        " up to 4,000, the Evaluation tier fewer. The provider counts per family of models, we count them together",
    ),
    Limit(
        "graph.mailbox", "graph", Scope.ORG_PROVIDER, 10_000, timedelta(minutes=10),
        "https://learn.microsoft.com/en-us/graph/throttling-limits: requests per app and mailbox",
    ),
    Limit(
        "resend.team", "resend", Scope.ORG_PROVIDER, 5, timedelta(seconds=1),
        "https://resend.com/docs/api-reference/errors: requests per second and team; older pages say 2",
    ),
    Limit(
        "discord.bot", "discord", Scope.PROVIDER, 50, timedelta(seconds=1),
        "https://docs.discord.com/developers/topics/rate-limits: requests per second and bot, before the limits of"
        " single routes",
    ),
    Limit(
        "twilio.account", "twilio", Scope.ORG_PROVIDER, 50, timedelta(seconds=1),
        "https://www.twilio.com/docs/api/errors/20429: Twilio names no figure for requests and queues messages itself;"
        " this is ours, so that a thousand reminders at one time do not meet a 429",
    ),
    Limit(
        "fcm.project", "fcm", Scope.ORG_PROVIDER, 600_000, MINUTE,
        "https://firebase.google.com/docs/cloud-messaging/throttling-and-quotas: messages per project and minute",
    ),
    Limit(
        "alerts.channel", "alerts", Scope.PROVIDER, 30, MINUTE,
        "https://docs.discord.com/developers/topics/rate-limits: Discord names no figure for webhooks and wants its"
        " headers read; this is ours, for the one address that alerts go to, so that a storm does not meet a 429",
    ),
)  # fmt: skip
"""Gmail's price per method is in `providers/google/gmail_quota.py`; elsewhere a call is one unit. Gmail's
80,000,000 units per day are a threshold of billing and no limit, so they are not here."""


def limits_of(provider: str, own_amounts: Mapping[str, int] | None = None) -> tuple[Limit, ...]:
    """A provider's limits, an account's before the installation's; `own_amounts` replace figures by the limit's name.

    Raises `Invalid` for a provider without limits, and for a figure that names no limit or is not positive.
    """
    check_amounts(own_amounts or {})
    found = [limit for limit in LIMITS if limit.provider == provider]
    if not found:
        raise Invalid(
            "provider", f"{provider} has no limits in domain/jobs/scheduling/limits.py; write down what it allows"
        )
    amounts = own_amounts or {}
    own = [replace(limit, amount=amounts.get(limit.name, limit.amount)) for limit in found]
    return tuple(sorted(own, key=lambda limit: limit.scope is Scope.PROVIDER))


def check_amounts(own_amounts: Mapping[str, int]) -> None:
    """Raise `Invalid` for a figure that names no limit or is not positive."""
    names = [limit.name for limit in LIMITS]
    for name, amount in own_amounts.items():
        if name not in names:
            raise Invalid("rate_limits", f"{name} is no limit; there are {', '.join(names)}")
        if amount < 1:
            raise Invalid("rate_limits", f"{name} must be at least 1, not {amount}")


@dataclass(frozen=True, slots=True)
class WindowUsage:
    """A sliding window as two counters: of the current window, which still lasts for `left`, and of the one before.

    The earlier one weighs as much as the sliding window still covers of it.
    """

    current: int
    previous: int
    left: timedelta

    def weight(self, per: timedelta, after: timedelta = timedelta(0)) -> float:
        """The units that count against a limit `after` so many seconds without a call."""
        if after < self.left:
            return self.current + self.previous * ((self.left - after) / per)
        return self.current * max(0.0, 1 - (after - self.left) / per)


def wait_for_room(limit: Limit, used: WindowUsage, units: int) -> timedelta:
    """How long until a call of so many units fits, and a tenth of the window with it; never more than two windows."""
    wanted = min(limit.amount, max(units, limit.amount // REFILL))
    room = limit.amount - wanted
    if used.weight(limit.per) <= room:
        return timedelta(0)
    if used.current <= room:
        return used.left - limit.per * ((room - used.current) / used.previous)
    return used.left + limit.per * (1 - room / used.current)


def bounded(limit: Limit, units: int) -> int:
    """The units of a call; a call above the whole window counts as the window, or it could never go."""
    return min(units, limit.amount)

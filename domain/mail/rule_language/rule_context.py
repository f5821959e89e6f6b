"""What a rule is checked against beside its own words, when somebody writes it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from domain.mail.rule_language.label_names import LabelNames
from domain.payloads.mail_address import address_key

_TAG = "+"
"""What follows it in front of the @ reaches the same mailbox."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The labels and profiles that may be named, the addresses whose mail the rule sees, and the time.

    Without one of them nothing is checked against it, as for a rule that is written back.
    """

    labels: LabelNames | None = None
    own_addresses: frozenset[str] = frozenset()
    now: datetime | None = None
    profiles: frozenset[str] | None = None
    """The agents' profiles that a route may name."""

    def own_among(self, addresses: Collection[str]) -> str | None:
        """The first address that reaches a mailbox of the rule: a forward to it comes back to the same rule."""
        own = {mailbox_of(one) for one in self.own_addresses}
        return next((one for one in addresses if mailbox_of(one) in own), None)


UNCHECKED = RuleContext()
"""Where nothing is known of the mailbox."""


def mailbox_of(address: str) -> str:
    """The mailbox that an address reaches: without its tag, as addresses are compared."""
    name, _, domain = address_key(address).rpartition("@")
    return f"{name.partition(_TAG)[0]}@{domain}"

"""By whom an org's mail leaves: provider, address and mailbox; and when a mail that was begun may go by another."""

from dataclasses import dataclass
from enum import StrEnum

from domain.jobs.failures import Invalid
from domain.payloads.mail_address import Address, check_address
from domain.payloads.mail_fields import mailbox_parts

NO_PROVIDER = "email"
"""In the place of the provider, where an org has none: under this name its mail waits for one."""


class EmailProvider(StrEnum):
    """Who can send mail for an org."""

    GRAPH = "graph"
    """Microsoft Graph, from a mailbox of the org's tenant."""
    RESEND = "resend"
    """Resend, from a domain that the org has proved to be its own."""


@dataclass(frozen=True, slots=True)
class SenderIdentity:
    """What tells one sender from another; the secret is not part of it, for new credentials send the same mail."""

    provider: EmailProvider
    from_address: str
    """`ada@example.org` or `Ada Lovelace <ada@example.org>`."""
    mailbox: str | None = None
    """The mailbox from which Graph sends."""

    @property
    def address(self) -> Address:
        """The address as the mail's From."""
        return Address(*mailbox_parts(self.from_address))

    @property
    def from_domain(self) -> str:
        """The domain that mail comes from."""
        return self.address.domain


def checked_sender(provider: EmailProvider, from_address: str, mailbox: str | None) -> SenderIdentity:
    """The sender, if it can send; raises `Invalid` with the field."""
    try:
        mailbox_parts(from_address)
    except ValueError as refusal:
        raise Invalid("from_address", str(refusal)) from None
    if provider is EmailProvider.GRAPH:
        if mailbox is None:
            raise Invalid("mailbox", "must be named: Graph sends from a mailbox")
        mailbox = check_address("mailbox", mailbox)
    elif mailbox is not None:
        raise Invalid("mailbox", f"{provider.value} sends from no mailbox")
    return SenderIdentity(provider, from_address.strip(), mailbox)


def may_go_by(bound: SenderIdentity | None, sender: SenderIdentity, *, has_begun: bool) -> bool:
    """Whether a mail may go by this sender that an earlier attempt was to send by `bound`.

    `has_begun` says that the earlier attempt may have sent it. Another provider could neither find that mail nor know
    its key, and would send it a second time.
    """
    return bound is None or bound == sender or not has_begun

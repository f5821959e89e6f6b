"""Whom a mail of ours comes from: the one choice for drafts, reworks, agents and actions (docs: sending.md#sender)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from domain.mail.mailbox import SenderAddress
from domain.mail.outgoing.header_lines import header_text
from domain.mail.parsing.addresses import parse_addresses
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.payloads.mail_address import Address, address_key

DELIVERED_TO = (
    "resent-to",
    "resent-cc",
    "x-original-to",
    "x-forwarded-to",
    "x-envelope-to",
    "envelope-to",
    "x-delivered-to",
    "apparently-to",
    "delivered-to",
)
"""Headers in which servers say where a mail arrived, the earliest stop first. The account's own address is in them
whomever the mail was written to, so they name aliases only."""


@dataclass(frozen=True, slots=True)
class SenderWords:
    """What the head and the foot of a mail say of its sender."""

    address: Address
    reply_to: tuple[Address, ...] = ()
    signature: str = ""
    """Plain text; Gmail adds none to what comes by its API."""

    @property
    def name(self) -> str:
        """Whose mail it is, as its owner has it shown; empty where nobody has said."""
        return self.address.name

    def signed(self, body: str) -> str:
        """The body with the signature below it (RFC 3676, 4.3), once."""
        foot = self.signature.strip()
        return body if not foot or body.rstrip().endswith(foot) else f"{body.rstrip()}\n\n-- \n{foot}"

    def unsigned(self, body: str) -> str:
        """The body without the signature that `signed` put there."""
        text = body.rstrip()
        foot = self.signature.strip()
        return text.removesuffix(foot).rstrip().removesuffix("--").rstrip() if foot and text.endswith(foot) else body


def choose_sender(own: Sequence[SenderAddress], email: str, original: ParsedMessage | None) -> SenderWords:
    """The address that the original was written to, else the account's default, else `email`.

    Only the account's own address and verified aliases count: Gmail replaces any other From by the account's own
    without a word (docs: gmail.md#sending). To the account's own mail the address answers that wrote it.
    """
    usable = {address_key(one.address): one for one in own if one.is_primary or one.is_verified}
    default = next((one for one in usable.values() if one.is_default), None)
    chosen = default or usable.get(address_key(email)) or SenderAddress(email, is_primary=True)
    if original is not None:
        chosen = next(_written_to(usable, email, original), chosen)
    return SenderWords(
        Address(header_text(chosen.name), chosen.address),
        () if chosen.reply_to is None else (Address("", chosen.reply_to),),
        chosen.signature,
    )


def sender_of(own: Sequence[SenderAddress], address: Address, reply_to: tuple[Address, ...]) -> SenderWords:
    """The sender that a draft names already, which its person may have chosen, with the signature of that address."""
    found = next((one for one in own if address_key(one.address) == address.key), None)
    if found is None:
        return SenderWords(address, reply_to)
    return SenderWords(Address(address.name or header_text(found.name), address.address), reply_to, found.signature)


def _written_to(usable: dict[str, SenderAddress], email: str, original: ParsedMessage) -> Iterator[SenderAddress]:
    senders = () if original.from_ is None else (original.from_,)
    for address in (*senders, *original.to, *original.cc, *original.bcc):
        yield from _usable(usable, address)
    for name in DELIVERED_TO:
        for address in parse_addresses(", ".join(original.header_values(name)))[0]:
            yield from (
                one for one in _usable(usable, address) if not (one.is_primary or one.address == address_key(email))
            )


def _usable(usable: dict[str, SenderAddress], address: Address) -> Iterator[SenderAddress]:
    """The usable address that an address is, or is a plus-address of (RFC 5233)."""
    mailbox, _, host = address.key.rpartition("@")
    for key in (address.key, f"{mailbox.partition('+')[0]}@{host}"):
        if key in usable:
            yield usable[key]
            return

"""Whom a reply is addressed to: nobody who was not part of the conversation before (docs: drafts.md#recipients)."""

from collections.abc import Collection, Iterable, Sequence

from domain.jobs.failures import Invalid
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.payloads.mail_address import Address, check_address

MOST_RECIPIENTS = 10
"""Whoever writes to more people than that chooses them."""


def recipients(
    asked: ParsedMessage, thread: Sequence[ParsedMessage], own: Collection[str] = frozenset()
) -> tuple[Address, ...]:
    """The addresses that a reply to `asked` goes to; `own` are the account's, as compared, and never among them.

    They are Reply-To when it is one address, or when all of its addresses took part in the thread; without a Reply-To
    the sender. To the account's own message answer those whom it went to. Raises `Invalid(field, reason)` when nobody
    can be answered, no mail can be sent to one of them, or a person has to choose.
    """
    if asked.from_ is None:
        raise Invalid("from", "the message has no sender who could be answered")
    if asked.from_.key in own:
        return _bounded("to", _distinct(asked.to, without=own))
    wanted = _distinct(asked.reply_to, without=own)
    if not wanted:
        return _bounded("from", (asked.from_,))
    if len(wanted) > 1 and not {one.key for one in wanted} <= took_part(thread, own):
        raise Invalid("reply_to", "names several addresses, some of which had no part in the conversation")
    return _bounded("reply_to", wanted)


def took_part(thread: Iterable[ParsedMessage], own: Collection[str]) -> frozenset[str]:
    """The addresses that wrote in a thread, and those that the account wrote to in it.

    Whom a stranger names in To or Cc had no part: else a message could bring its own victims along.
    """
    keys: set[str] = set()
    for message in thread:
        if message.from_ is None:
            continue
        keys.add(message.from_.key)
        if message.from_.key in own:
            keys |= {one.key for one in (*message.to, *message.cc)}
    return frozenset(keys)


def _distinct(addresses: Sequence[Address], *, without: Collection[str]) -> tuple[Address, ...]:
    """The first of each address, in their order."""
    firsts: dict[str, Address] = {}
    for one in addresses:
        firsts.setdefault(one.key, one)
    return tuple(one for key, one in firsts.items() if key not in without)


def _bounded(field: str, addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    if not addresses:
        raise Invalid(field, "names nobody who could be answered")
    if len(addresses) > MOST_RECIPIENTS:
        raise Invalid(
            field, f"names {len(addresses)} addresses; at most {MOST_RECIPIENTS} are written to by themselves"
        )
    for one in addresses:
        check_address(field, one.address)
    return addresses

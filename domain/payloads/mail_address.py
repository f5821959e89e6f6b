"""Which addresses mail can be sent to, how they are written, and how they are compared.

This is the only notion of it: the reader of mail, payloads, actions, rules, drafts and sent mail ask here. What the
reader takes for an address can be written, unless its local part is not ASCII.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import idna
import idna.uts46data  # the package would read its tables at the first address, as that message's work

from domain.jobs.failures import Invalid

LONGEST_ADDRESS = 320
"""Characters: 64 before the at-sign and 255 after it (RFC 3696). Real local parts are longer at times, such as those
that bring an answer back to its ticket, so only the sum is bounded (RFC 5321, 4.5.3.1)."""

_KEPT = 1_024
"""Domains in other letters whose A-labels are remembered: an address is compared several times, and each letter costs
some 75 lines of Python."""
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_DOT_ATOM = re.compile(rf"{_ATOM}(?:\.{_ATOM})*+")
_QUOTABLE = re.compile(r"[!-~]+")
"""A local part that stands without quotation marks and may get them: visible ASCII."""
_UNQUOTABLE = re.compile(r'[\s"(),:;<>@]')
"""What ends an address where it stands without quotation marks: with it, the text was meant to be something else."""
_QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\[ -~])*+)"')
_QUOTED_PAIR = re.compile(r"\\(.)")
_DOMAIN = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_-]{0,62}\.)*[A-Za-z0-9_][A-Za-z0-9_-]{0,62}")
"""An underscore is in no host's name (RFC 1123, 2.1), and in the domains of some senders."""
_OTHER_LETTERS = re.compile(r"[^\x00-\x7f]")
_LITERAL = re.compile(r"\[(?:\d{1,3}(?:\.\d{1,3}){3}|IPv6:[0-9A-Fa-f:.]{2,45})\]")


def writable_address(text: str) -> str:
    """The address as it is written in a header; raises `ValueError` when no mail can be sent to it.

    A local part that is no dot-atom gets quotation marks (RFC 5321, 4.1.2); a domain in other letters than ASCII is
    written as its A-labels (RFC 5890). Everything else stays as it is given.
    """
    address = text.strip()
    if len(address) > LONGEST_ADDRESS:
        raise ValueError(f"is no address that mail can be sent to: it has more than {LONGEST_ADDRESS} characters")
    local, _, domain = address.rpartition("@")
    return f"{_local_part(local)}@{writable_domain(domain)}"


def check_address(field: str, text: str) -> str:
    """The address as it is written; raises `Invalid` with the field when no mail can be sent to it."""
    try:
        return writable_address(text)
    except ValueError as refusal:
        raise Invalid(field, str(refusal)) from None


def is_readable(text: str) -> bool:
    """Whether the text is an address that a sender may have: other letters may stand in front of the @ (RFC 6531)."""
    local, _, domain = text.rpartition("@")
    try:
        writable_address(f"{_OTHER_LETTERS.sub('x', local)}@{domain}")
    except ValueError:
        return False
    return True


def writable_domain(domain: str) -> str:
    """The domain as it is written in an address; raises `ValueError` when it is none."""
    written = domain.strip().removesuffix(".")
    if not written.isascii():
        written = _a_labels(written)
    if not _DOMAIN.fullmatch(written) and not _LITERAL.fullmatch(written):
        raise ValueError("is no address that mail can be sent to: no domain stands after its @")
    return written


def address_key(text: str) -> str:
    """An address as it is compared: the same for each way to write it; bounded, and never refuses a text."""
    text = text.strip()[:LONGEST_ADDRESS].strip()
    local, at, domain = text.rpartition("@")
    local = local.strip()
    with suppress(ValueError):
        local = _local_part(local)
    key = f"{local.casefold()}{at}{domain_key(domain)}"
    return key if len(key) <= LONGEST_ADDRESS else text.casefold()[:LONGEST_ADDRESS]


def domain_key(text: str) -> str:
    """A domain as it is compared: its A-labels in lower case, without a dot at its end; never refuses a text."""
    try:
        return writable_domain(text).casefold()
    except ValueError:
        return text.casefold().strip()


def domain_in_letters(domain: str) -> str:
    """A domain as a reader sees it, its A-labels in their own letters; one that says nothing in them stays."""
    try:
        return idna.decode(domain)
    except (idna.IDNAError, UnicodeError):
        return domain


def _local_part(local: str) -> str:
    quoted = _QUOTED.fullmatch(local)
    if quoted is not None:
        name = _QUOTED_PAIR.sub(r"\1", quoted[1])
    elif not local.isascii():
        raise ValueError("is no address that mail can be sent to: only ASCII may stand before its @")
    elif not _QUOTABLE.fullmatch(local) or _UNQUOTABLE.search(local):
        raise ValueError("is no address that mail can be sent to, such as ada@example.org")
    else:
        name = local
    if _DOT_ATOM.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@lru_cache(_KEPT)
def _a_labels(domain: str) -> str:
    """The domain in ASCII, mapped as browsers do (Unicode Technical Standard 46)."""
    if len(domain) > LONGEST_ADDRESS:
        return ""
    try:
        labels = idna.uts46_remap(domain, std3_rules=False, transitional=False).removesuffix(".").split(".")
        return ".".join(one if one.isascii() else idna.alabel(one).decode("ascii") for one in labels)
    except (idna.IDNAError, UnicodeError):
        return ""


@dataclass(frozen=True, slots=True)
class Address:
    """A mailbox: the display name is whatever its owner chose, only the address says who it is."""

    name: str
    address: str

    @property
    def key(self) -> str:
        """The address as it is compared: without the name, and the same for each way to write it."""
        return address_key(self.address)

    @property
    def is_writable(self) -> bool:
        """Whether mail can be sent to it: of what is read, all but an address with other letters before its @."""
        return self.key.isascii()

    @property
    def local_part(self) -> str:
        """The part before the last at-sign, case-folded."""
        return self.key.rpartition("@")[0]

    @property
    def domain(self) -> str:
        """The part after the last at-sign, case-folded."""
        return self.key.rpartition("@")[2]

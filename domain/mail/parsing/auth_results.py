"""What the receiving host found out about a message's sender, by its own Authentication-Results (RFC 8601)."""

import re
from collections.abc import Callable
from functools import lru_cache

import authres
import idna

from domain.mail.parsing.limits import LONGEST_AUTH_RESULTS, MOST_AUTH_RESULTS

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_PARSE: Callable[[str], authres.AuthenticationResultsHeader] = authres.all_features().parse_value


@lru_cache(maxsize=16)
def vouches_for(value: str, hosts: frozenset[str], domain: str) -> bool:
    """Whether one of these hosts says `dmarc=pass` of this From domain, and nothing else of DMARC.

    A sender chooses some words of the header, such as the envelope's sender. They are read in both ways that writers
    of the header know: a parenthesis in quotes ends a comment around it (RFC 5322, 3.2.2), or it does not. Only what
    holds in both counts. A header that cannot be read whole proves nothing.
    """
    if max(value.count("("), value.count(";")) > MOST_AUTH_RESULTS:
        return False
    text = _FOREIGN.sub(lambda letter: f"u{ord(letter[0]):x}", value).strip().rstrip("; \t")
    return all(_passed(reading, hosts, domain) for reading in (text, _QUOTED.sub("quoted", text)))


def kept_results(value: str) -> str:
    """The header as it is kept to be judged: whole or not at all."""
    return value if len(value) <= LONGEST_AUTH_RESULTS else ""


def _passed(text: str, hosts: frozenset[str], domain: str) -> bool:
    try:
        header = _PARSE(text)
    except (authres.AuthResError, RecursionError, ValueError):
        return False
    found = [result for result in header.results if result.method == "dmarc"]
    named = [one.value for result in found for one in result.properties if (one.type, one.name) == ("header", "from")]
    return (
        header.authserv_id in hosts
        and [result.result for result in found] == ["pass"]
        and all(_aligned(name or "", domain) for name in named)
    )


def _aligned(named: str, domain: str) -> bool:
    """Whether the domain that was checked is the one in From, or one of them is above the other (RFC 7489, 3.1.1)."""
    try:
        ours = idna.encode(domain, uts46=True).decode()
    except idna.IDNAError:
        return False
    checked = named.lower().rpartition("@")[2].rstrip(".")
    return checked == ours or checked.endswith(f".{ours}") or ours.endswith(f".{checked}")

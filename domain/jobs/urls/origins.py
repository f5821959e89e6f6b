"""Addresses as an operator writes them, in the form in which they are kept and compared."""

import re
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

HOST = re.compile(r"[a-z0-9._:-]+")
"""Of an address that browsers are sent to, in lower case; a name with other letters is written as `xn--…`."""

THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})


def with_lower_scheme(url: str) -> str:
    """A URL whose scheme can be compared as it stands."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme.lower()}{mark}{rest}" if mark else url


def is_address(url: str, schemes: Collection[str]) -> bool:
    """Whether a URL names a host, by one of these schemes."""
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname)
    except ValueError:
        return False


def check_address(setting: str, url: str, *, may_be_plain: bool) -> None:
    """Raise `ValueError` by the setting's name for what is no address with https, or http where that may be."""
    schemes = ["https", "http"] if may_be_plain else ["https"]
    if not is_address(url, schemes):
        raise ValueError(f"{setting}: must be an address with {' or '.join(schemes)}")


def check_provider(given: Mapping[str, str], public_url: str, *, may_be_plain: bool) -> None:
    """Raise `ValueError` for a provider of sign-ins of which not all is given; its first setting is its address."""
    if not any(given.values()):
        return
    for setting, value in {**given, "public_url": public_url}.items():
        if not value:
            raise ValueError(f"{setting}: must be set, or none of {', '.join(given)}")
    setting, issuer = next(iter(given.items()))
    check_address(setting, issuer, may_be_plain=may_be_plain)
    if {"?", "#"} & {*issuer}:
        raise ValueError(f"{setting}: must be an address without a query")


def origin_of(url: str, *, may_be_plain_here: bool) -> str:
    """An address that is scheme, host and at most a port, as Google compares it; raises `ValueError`.

    Google takes http for this machine alone: it is refused unless `may_be_plain_here`.
    """
    origin = url.removesuffix("/")
    try:
        parts = urlsplit(origin)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        raise ValueError("must be an address such as https://mail.example.org") from None
    host = parts.hostname or ""
    is_plain_here = parts.scheme == "http" and host in THIS_MACHINE and may_be_plain_here
    if parts.scheme != "https" and not is_plain_here:
        raise ValueError("must be an address with https; http is for development on this machine")
    # Compared as a whole: urlsplit passes over line ends, empty queries and fragments, which Google does not.
    plain = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"
    if not HOST.fullmatch(host) or origin.lower() != plain:
        raise ValueError("must be scheme, host and at most a port, as https://mail.example.org, and nothing else")
    return plain

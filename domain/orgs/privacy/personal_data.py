"""Addresses of people in what is logged: the domain and a hash stand for them (docs: email.md#addresses-in-logs)."""

import hashlib
import re
from collections.abc import Mapping

from domain.payloads.mail_address import address_key

HASH_LETTERS = 10
"""Of the hash: enough that two addresses of one log differ, and one address is followed from line to line."""
DEEPEST = 50
"""A log record nests less."""
NODE = "celery"
"""What stands before the @ of a worker's name, which is no address."""

_LOCAL = r"A-Za-z0-9.!#$%&'*+/=?^_`{|}~-"
_ADDRESS = re.compile(rf"(?<![{_LOCAL}])([{_LOCAL}]{{1,64}})@([A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+)")
"""An address as people write it in a text."""


def address_mark(address: str) -> str:
    """What is logged of an address: `example.org#2c26b46b68`. The same for each way to write it.

    Who knows an address finds its lines; who reads the lines does not learn the address, unless by guessing it.
    """
    key = address_key(address)
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key.rpartition('@')[2]}#{digest[:HASH_LETTERS]}"


def without_addresses(text: str) -> str:
    """The text with the mark of each address in its place."""
    if "@" not in text:
        return text
    return _ADDRESS.sub(_mark, text)


def _mark(found: re.Match[str]) -> str:
    local = found[1].lstrip("'") or found[1]
    is_login = local.startswith("//") and found.string[: found.start()].endswith(":")  # redis://user@host
    if local == NODE or is_login:
        return found[0]
    return f"{found[1].removesuffix(local)}{address_mark(f'{local}@{found[2]}')}"


def marked(value: object, depth: int = 0) -> object:
    """The value with `without_addresses` of each text in it."""
    match value:
        case str():
            return without_addresses(value)
        case Mapping() if depth < DEEPEST:
            return {name: marked(one, depth + 1) for name, one in value.items()}
        case list() | tuple() if depth < DEEPEST:
            return [marked(one, depth + 1) for one in value]
        case _:
            return value

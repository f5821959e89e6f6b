"""Small messages for the tests of the mail domain, parsed from real bytes."""

from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import ParsedMessage


def raw_message(body: str = "Hello, can we meet on Monday?\n", **headers: str) -> bytes:
    """RFC 822 bytes; header names are given with underscores, a From and a To are there unless given."""
    fields = {"from": "Ada <ada@example.org>", "to": "owner@example.com", "subject": "Meeting", **headers}
    lines = [f"{name.strip('_').replace('_', '-')}: {value}" for name, value in fields.items() if value]
    return ("\n".join(lines) + "\n\n" + body).encode()


def make_message(body: str = "Hello, can we meet on Monday?\n", **headers: str) -> ParsedMessage:
    return parse_message(raw_message(body, **headers))

"""Parsed messages as documents: what is not a column of its own goes into one JSON value, and comes back the same."""

from typing import Any

from pydantic import TypeAdapter

from domain.jobs.job import JsonObject
from domain.mail.parsing.parsed_message import ParsedMessage

_ADAPTER = TypeAdapter(ParsedMessage)
_COLUMNS = {"subject", "text", "html"}
"""Kept beside the document or, for HTML, not at all: its text is in the body, and nobody renders it."""


def document_of(message: ParsedMessage) -> JsonObject:
    """The message without its subject, text and HTML."""
    document: JsonObject = _ADAPTER.dump_python(message, mode="json", exclude=_COLUMNS)
    return document


def parsed(document: JsonObject, *, subject: str, body: str) -> ParsedMessage:
    """The message that was stored; its HTML is gone."""
    fields: dict[str, Any] = {**document, "subject": subject, "text": body, "html": None}
    return _ADAPTER.validate_python(fields)

"""Structured logs to standard error: one JSON object a line, every one of them redacted."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog
from structlog.types import Processor

from domain.orgs.privacy.personal_data import marked
from domain.orgs.privacy.redaction import redact_document, redact_text

LONGEST_ERROR = 2000
"""Characters of an error that a row and a log keep."""

TALKATIVE = ("anthropic", "googleapiclient", "httpcore2", "httpx2", "msal", "sqlalchemy.engine")
"""Libraries that print what they send: mail, prompts, statements and parameters, which no log may hold."""


def configure(level: str) -> None:
    """Send structlog's and the standard library's records through one redacting formatter."""
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            hide_secrets,
            structlog.processors.JSONRenderer(default=str),
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[*before, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        # What is not logged must cost nothing: a short job takes less time than a record.
        wrapper_class=structlog.make_filtering_bound_logger(root.level),
        cache_logger_on_first_use=True,
    )


def hide_secrets(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Redact a record by the names of its fields and the look of its values, and mark the addresses of people."""
    return {name: marked(value) for name, value in redact_document(event).items()}


def sanitise(error: BaseException) -> str:
    """An error's kind and text without secrets, cut to a length that a row can hold."""
    return redact_text(f"{type(error).__name__}: {error}", LONGEST_ERROR)[:LONGEST_ERROR]

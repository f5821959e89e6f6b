"""Asks the language model about mail: prompts become requests, and a job asks once per purpose."""

import secrets
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from domain.mail.triage.prompts import Prompt
from engine.context import JobContext
from engine.model_budget import ask_model
from providers.ports import ModelRequest

MOST_TOKENS = 4096
"""Of an answer, in tokens."""


def boundary() -> str:
    """A random word that no mail can contain, new for each message."""
    return secrets.token_hex(12)


def ask(ctx: JobContext, account_id: UUID, purpose: str, model: str, prompt: Prompt) -> Mapping[str, Any] | None:
    """The arguments of the model's tool call, from this or an earlier attempt; None when there are none to trust."""
    request = ModelRequest(
        model=model,
        system=prompt.system,
        mail=prompt.mail,
        tool_name=prompt.tool_name,
        tool_description=prompt.tool_description,
        tool_schema=prompt.tool_schema,
        max_tokens=MOST_TOKENS,
    )
    arguments: Mapping[str, Any] | None = ask_model(ctx, purpose, request, account_id=account_id)["arguments"]
    return arguments

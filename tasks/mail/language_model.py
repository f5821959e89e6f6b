"""Asks the language model about mail: prompts become requests, and a job asks once per purpose."""

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from domain.jobs.job import JsonObject
from domain.mail.triage.prompts import Prompt
from engine.context import JobContext
from providers.anthropic.models import PROVIDER
from providers.on_demand import on_demand
from providers.ports import LanguageModel, ModelRequest

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


def ask_model(ctx: JobContext, purpose: str, request: ModelRequest, *, account_id: UUID | None = None) -> JsonObject:
    """Make one call per job and purpose that the job's org can pay for; returns and raises as `ModelBudget.ask`."""
    return ctx.budget.ask(PROVIDER, shared_model(ctx), purpose, request, account_id=account_id)


def shared_model(ctx: JobContext) -> LanguageModel:
    """The process's client of the model; it is asked through `ctx.budget` only."""
    return ctx.shared(PROVIDER, partial(_make_model, ctx))


def _make_model(ctx: JobContext) -> LanguageModel:
    settings = ctx.settings
    model: LanguageModel = on_demand("providers.anthropic.language_model:AnthropicModel")(
        api_key=settings.anthropic_api_key.get_secret_value(),
        timeout_s=settings.anthropic_timeout_s,
        meter=ctx.meter(PROVIDER),
        base_url=settings.anthropic_base_url,
        clock=ctx.clock,
    )
    return model

"""Asks the language model about mail: prompts become requests, and a job asks once per step."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.mail.triage.models_asked import ModelsAsked
from domain.mail.triage.prompts import Prompt
from domain.models.money import PROVIDER
from engine.context import JobContext
from engine.handler_settings import HandlerSettings
from engine.model_budget import BASED_ON, REFUSED, CheckAnswer
from observability.on_demand import on_demand
from providers.ports.language_model import ConversationRequest, LanguageModel, ModelRequest

Accepted = TypeVar("Accepted")

MOST_TOKENS = 4096
"""Of an answer, in tokens."""


class OutOfDate(Exception):
    """The kept answer was made from something else than the caller has now; only another job asks anew."""


def boundary() -> str:
    """A random word that no mail can contain, new for each message."""
    return secrets.token_hex(12)


def models_asked(settings: HandlerSettings) -> ModelsAsked:
    """The models that classify, by the settings."""
    return ModelsAsked(settings.classify_model, settings.classify_first_model or None)


def ask(  # noqa: PLR0913 - who asks, for whom, what, and what is kept of it
    ctx: JobContext,
    account_id: UUID,
    step: str,
    model: str,
    prompt: Prompt,
    accept: Callable[[Mapping[str, Any]], Accepted],
    *,
    based_on: str | None = None,
) -> Accepted:
    """What `accept` makes of the model's tool call, from this or an earlier attempt.

    `based_on` names what the prompt was made from. Raises `OutOfDate` when an earlier attempt's was made from something
    else, and `Invalid` when there is no answer to use: `accept` raised it, the model called no tool, or the vendor
    would not take the request. The reason is listed with the call.
    """
    request = ModelRequest(model=model, max_tokens=MOST_TOKENS, **asdict(prompt))
    kept = ask_model(ctx, step, request, account_id=account_id, check=partial(_why_not, accept), based_on=based_on)
    if not is_based_on(kept, based_on):
        raise OutOfDate
    if kept["arguments"] is None:
        raise Invalid("answer", kept.get(REFUSED) or f"the model did not call the tool ({kept['stop_reason']})")
    return accept(kept["arguments"])


def is_based_on(kept: JsonObject, basis: str | None) -> bool:
    """Whether a kept answer was made from this."""
    return bool(kept.get(BASED_ON) == basis)


def _why_not(accept: Callable[[Mapping[str, Any]], object], arguments: Mapping[str, Any]) -> str | None:
    try:
        accept(arguments)
    except Invalid as refusal:
        return refusal.reason
    return None


def ask_model(
    ctx: JobContext,
    step: str,
    request: ModelRequest,
    *,
    account_id: UUID | None = None,
    check: CheckAnswer | None = None,
    based_on: str | None = None,
) -> JsonObject:
    """Make one call per job and step that the job's org can pay for; returns and raises as `ModelBudget.ask`."""
    return ctx.budget.ask(
        PROVIDER, shared_model(ctx), step, request, account_id=account_id, check=check, based_on=based_on
    )


def converse(
    ctx: JobContext, account_id: UUID | None, step: str, request: ConversationRequest, most_microcents: int
) -> JsonObject:
    """Make one call of a conversation per job and step; returns and raises as `ModelBudget.converse`."""
    return ctx.budget.converse(
        PROVIDER, shared_model(ctx), step, request, account_id=account_id, most_microcents=most_microcents
    )


def most_of_turn(ctx: JobContext, request: ConversationRequest, is_affordable: Callable[[int], bool]) -> int | None:
    """The most that a call of a conversation can cost, in microcents; None when it is more than the caller can afford.

    The bound by the prompt's bytes is some times too high. Only where it is too much, the vendor counts the tokens.
    """
    model = shared_model(ctx)
    bound = model.most_microcents(request)
    if is_affordable(bound):
        return bound
    if not is_affordable(model.most_microcents(request, 0)):
        return None
    closer = model.most_microcents(request, model.count_tokens(request))
    return closer if is_affordable(closer) else None


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

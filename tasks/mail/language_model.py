"""Asks the language model: one paid call per step, its usage recorded even when the answer is of no use."""

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from domain.jobs.job import JsonObject
from domain.mail.triage.prompts import Prompt
from engine.context import JobContext
from engine.model_budget import ask_model
from providers.ports import ModelAnswer, ModelRequest
from storage.money import model_calls
from storage.money.model_calls import ModelCall


def boundary() -> str:
    """A word that no mail can have foreseen, made afresh for each message."""
    return secrets.token_hex(12)


def ask(ctx: JobContext, account_id: UUID, purpose: str, model: str, prompt: Prompt) -> Mapping[str, Any] | None:
    """The arguments of the model's tool call, from this or an earlier attempt; None when there are none to trust."""
    kept = ctx.step(
        purpose, lambda: _call(ctx, account_id, purpose, model, prompt), cost=lambda step: int(step["cost"])
    )
    arguments: Mapping[str, Any] | None = kept["arguments"]
    return arguments


def _call(ctx: JobContext, account_id: UUID, purpose: str, model: str, prompt: Prompt) -> JsonObject:
    request = ModelRequest(
        model=model,
        system=prompt.system,
        mail=prompt.mail,
        tool_name=prompt.tool_name,
        tool_description=prompt.tool_description,
        tool_schema=prompt.tool_schema,
        max_tokens=4096,
    )
    answer = ask_model(ctx, request)
    with ctx.tx() as tx:
        model_calls.record(tx, account_id, _bill(ctx, purpose, answer))
    return {"arguments": answer.arguments, "stop_reason": answer.stop_reason, "cost": answer.cost_microcents}


def _bill(ctx: JobContext, purpose: str, answer: ModelAnswer) -> ModelCall:
    return ModelCall(
        purpose=purpose,
        model=answer.model,
        stop_reason=answer.stop_reason,
        cost_microcents=answer.cost_microcents,
        request_id=answer.request_id,
        refusal=None if answer.arguments is not None else f"no answer: {answer.stop_reason}",
        job_id=ctx.job.job_id,
        **asdict(answer.usage),
    )

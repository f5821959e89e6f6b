"""Anthropic's models: a forced call or a turn of a conversation, with the cost of every answer, useful or not."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Self, TypeVar

import pydantic

from domain.models.money import PROVIDER
from providers.anthropic.conversation import (
    arguments_of,
    conversation_body,
    kept_content,
    prompt_body,
    prompt_tokens_at_most,
)
from providers.anthropic.failures import failure_of, off
from providers.anthropic.models import cost_microcents
from providers.ports import Meter
from providers.ports.language_model import ConversationAnswer, ConversationRequest, ModelAnswer, ModelRequest, Usage
from providers.rest_client import RestClient, unreadable, utc_now

Shape = TypeVar("Shape", bound="_Identified")

OWN_ADDRESS = "https://api.anthropic.com"
API_VERSION = "2026-10-21"

DEAREST_INPUT = {None: "input_tokens", "5m": "cache_creation_5m_tokens", "1h": "cache_creation_1h_tokens"}
"""By what a request asks of the cache: writing costs more than reading, and more than no cache at all."""


class AnthropicModel(RestClient):
    """Implements `LanguageModel`; safe to share between threads.

    `timeout_s` bounds each call in all. Nothing is repeated: a repeated call is billed again.
    """

    def __init__(
        self,
        *,
        api_key: str,
        timeout_s: float,
        meter: Meter,
        base_url: str | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Without `base_url` the vendor's own address is used, whatever the environment says.

        `meter` hears of each request before it is sent and may raise `Throttled` to forbid it.
        """
        super().__init__(PROVIDER, timeout_s=timeout_s, meter=meter)
        self._clock = clock
        self._is_off = not api_key
        self._url = f"{(base_url or OWN_ADDRESS).rstrip('/')}/v1/messages"
        self._headers = {
            "Authorization": f"Bearer {api_key}",
            "Content-Type": "application/json",
            "anthropic-version": API_VERSION,
        }

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Make one call.

        Every 200 is an answer with its usage and cost; `arguments` is None when the model refused, was cut off, called
        another tool or none. Everything else raises: what speaks of our key, credit or limits is `Throttled`.
        """
        answer = self.converse(request.conversation)
        return ModelAnswer(
            model=answer.model,
            stop_reason=answer.stop_reason,
            arguments=arguments_of(answer, request.tool_name),
            usage=answer.usage,
            cost_microcents=answer.cost_microcents,
            request_id=answer.request_id,
        )

    def converse(self, request: ConversationRequest) -> ConversationAnswer:
        """Make one call of a conversation with tools.

        Every 200 is an answer with its usage and cost, whatever it stopped for. Everything else raises as in `ask`.
        """
        answer = self._post("create", "", conversation_body(request), _Said, of_installation=request.is_forced)
        usage = answer.usage.as_usage()
        return ConversationAnswer(
            model=answer.model,
            stop_reason=answer.stop_reason or "",
            content=kept_content(answer.content),
            usage=usage,
            cost_microcents=cost_microcents(answer.model, usage, self._clock().date()),
            request_id=answer.request_id,
        )

    def most_microcents(self, request: ModelRequest | ConversationRequest, prompt_tokens: int | None = None) -> int:
        """The most that a call can cost: a token per byte unless they were counted, and the longest answer.

        Where the request asks for the cache, the prompt counts as written to it: the most expensive kind of input.
        """
        asked = _conversation(request)
        prompt = prompt_tokens_at_most(asked) if prompt_tokens is None else prompt_tokens
        usage = Usage(output_tokens=asked.max_tokens, **{DEAREST_INPUT[asked.cache]: prompt})
        return cost_microcents(asked.model, usage, self._clock().date())

    def count_tokens(self, request: ModelRequest | ConversationRequest) -> int:
        """The tokens of a prompt, counted by the vendor."""
        asked = _conversation(request)
        body, of_installation = prompt_body(asked), asked.is_forced
        counted = self._post("count_tokens", "/count_tokens", body, _Counted, of_installation=of_installation)
        return counted.input_tokens

    def _post(
        self,
        operation: str,
        path: str,
        body: dict[str, Any],
        shape: type[Shape],
        *,
        of_installation: bool,
    ) -> Shape:
        """Make one metered call; returns the part of its answer that we read. Without a key there is none.

        `of_installation` is whether the settings name the model; an agent's profile names a conversation's.
        """
        if self._is_off:
            raise off(self._clock())
        # Half of a surrogate pair, which mail may hold, has no UTF-8.
        sent = json.dumps(body, ensure_ascii=False).encode(errors="replace")
        answer = self.call(f"messages.{operation}", "POST", self._url + path, headers=self._headers, body=sent)
        if not answer.is_success:
            raise failure_of(answer, self._clock(), body["model"], of_installation=of_installation)
        try:
            return shape.model_validate_json(answer.body).identified(answer.headers.get("request-id"))
        except pydantic.ValidationError:
            failure = unreadable(PROVIDER, answer.status)
        # Outside the handler, so that no traceback shows the package's error, which quotes the answer.
        raise failure


class _CacheCreation(pydantic.BaseModel):
    ephemeral_5m_input_tokens: pydantic.NonNegativeInt = 0
    ephemeral_1h_input_tokens: pydantic.NonNegativeInt = 0


class _Usage(pydantic.BaseModel):
    """What is billed; a count below zero is no usage, and would give the org money back."""

    input_tokens: pydantic.NonNegativeInt
    output_tokens: pydantic.NonNegativeInt
    cache_read_input_tokens: pydantic.NonNegativeInt | None = None
    cache_creation_input_tokens: pydantic.NonNegativeInt | None = None
    cache_creation: _CacheCreation | None = None

    def as_usage(self) -> Usage:
        """Without the split by lifetime, all cache writes count as the short one, which we ask for."""
        split = self.cache_creation or _CacheCreation(ephemeral_5m_input_tokens=self.cache_creation_input_tokens or 0)
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_creation_5m_tokens=split.ephemeral_5m_input_tokens,
            cache_creation_1h_tokens=split.ephemeral_1h_input_tokens,
            cache_read_tokens=self.cache_read_input_tokens or 0,
        )


class _Identified(pydantic.BaseModel):
    """An answer with the id that its header carries."""

    request_id: str | None = None

    def identified(self, request_id: str | None) -> Self:
        return self.model_copy(update={"request_id": request_id})


class _Said(_Identified):
    """The part of a message that is read, whose blocks are sent back as they came; the package's is never checked."""

    model: str
    stop_reason: str | None = None
    usage: _Usage
    content: list[dict[str, Any]] = []


class _Counted(_Identified):
    """A count of tokens."""

    input_tokens: pydantic.NonNegativeInt


def _conversation(request: ModelRequest | ConversationRequest) -> ConversationRequest:
    return request.conversation if isinstance(request, ModelRequest) else request

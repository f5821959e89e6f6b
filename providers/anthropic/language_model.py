"""Anthropic's models: a forced call or a turn of a conversation, with the cost of every answer, useful or not."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Self, TypeVar

import pydantic
from anthropic import Anthropic, APIConnectionError, APIStatusError, DefaultHttpxClient

from domain.jobs.failures import Failure
from domain.models.money import PROVIDER
from observability.job_spans import call_span
from providers.anthropic.conversation import (
    arguments_of,
    conversation_body,
    kept_content,
    prompt_body,
    prompt_tokens_at_most,
)
from providers.anthropic.failures import failure_of
from providers.anthropic.models import cost_microcents
from providers.closing import Closing
from providers.limited_client import limited, shared_tls
from providers.ports import Meter
from providers.ports.language_model import ConversationAnswer, ConversationRequest, ModelAnswer, ModelRequest, Usage
from providers.ports.time_limit import TimeLimit
from providers.rest_client import unreadable, utc_now

Shape = TypeVar("Shape", bound="_Identified")

OWN_ADDRESS = "https://api.anthropic.com"
CREATE = "anthropic.messages.create"
COUNT = "anthropic.messages.count_tokens"

DEAREST_INPUT = {None: "input_tokens", "5m": "cache_creation_5m_tokens", "1h": "cache_creation_1h_tokens"}
"""By what a request asks of the cache: writing costs more than reading, and more than no cache at all."""


class AnthropicModel(Closing):
    """Implements `LanguageModel`; safe to share between threads, built after any fork.

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
        self._clock = clock
        self._meter = meter
        self._limit = TimeLimit()
        self._limit_s = timeout_s
        self._client = Anthropic(
            api_key=api_key,
            base_url=base_url or OWN_ADDRESS,
            timeout=timeout_s,
            max_retries=0,
            http_client=limited(DefaultHttpxClient(verify=shared_tls(), follow_redirects=False), self._limit),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

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
        answer = self._post(
            CREATE,
            self._client.messages.with_raw_response.create,
            conversation_body(request),
            _Said,
            of_installation=request.is_forced,
        )
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
        count = self._client.messages.with_raw_response.count_tokens
        return self._post(COUNT, count, prompt_body(asked), _Counted, of_installation=asked.is_forced).input_tokens

    def _post(
        self,
        method: str,
        call: Callable[..., Any],
        body: dict[str, Any],
        shape: type[Shape],
        *,
        of_installation: bool,
    ) -> Shape:
        """Make one metered call; returns the part of its answer that we read.

        `of_installation` is whether the settings name the model; an agent's profile names a conversation's.
        """
        self._meter(method, 1)
        self._limit.begin(self._limit_s)
        try:
            with call_span("anthropic", "POST", str(self._client.base_url)) as traced:
                response = call(**body).http_response
                traced.note({"http.response.status_code": response.status_code})
            return shape.model_validate_json(response.content).identified(response.headers.get("request-id"))
        except (APIStatusError, APIConnectionError) as error:
            failure: Failure = failure_of(error, self._clock(), body["model"], of_installation=of_installation)
        except pydantic.ValidationError:
            failure = unreadable(PROVIDER, response.status_code)
        # Outside the handler, so that no traceback shows the vendor's error, which may quote the mail.
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

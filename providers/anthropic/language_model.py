"""Anthropic's models behind one tool call, with the cost of every answer, useful or not."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Self, TypeVar

import pydantic
from anthropic import Anthropic, APIConnectionError, APIStatusError, DefaultHttpxClient
from anthropic.types import TextBlockParam, ToolParam

from domain.jobs.failures import Failure
from domain.scheduling.money import PROVIDER, tokens_at_most
from observability.job_spans import call_span
from providers.anthropic.conversation import conversation_body, kept_content, prompt_body, prompt_tokens_at_most
from providers.anthropic.failures import failure_of
from providers.anthropic.models import Manner, cost_microcents, manner_of
from providers.closing import Closing
from providers.limited_client import limited, shared_tls
from providers.ports import Meter, ModelAnswer, ModelRequest, Usage
from providers.ports.conversation import ConversationAnswer, ConversationRequest
from providers.ports.time_limit import TimeLimit
from providers.rest_client import unreadable, utc_now

Shape = TypeVar("Shape", bound="_Identified")

OWN_ADDRESS = "https://api.anthropic.com"
CREATE = "anthropic.messages.create"
COUNT = "anthropic.messages.count_tokens"

DEAREST_INPUT = {None: "input_tokens", "5m": "cache_creation_5m_tokens", "1h": "cache_creation_1h_tokens"}
"""By what a request asks of the cache: writing costs more than reading, and more than no cache at all."""

CALL_THE_TOOL = "Answer with exactly one call of the tool `{name}` and nothing else."
"""Said to models that refuse a forced call; it is in the system prompt, so mail cannot come after it."""


class AnthropicModel(Closing):
    """Implements `LanguageModel` and `Conversation`; safe to share between threads, built after any fork.

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
        answer = self._answer(request)
        usage = answer.usage.as_usage()
        return ModelAnswer(
            model=answer.model,
            stop_reason=answer.stop_reason or "",
            arguments=_arguments(answer, request.tool_name),
            usage=usage,
            cost_microcents=cost_microcents(answer.model, usage, self._clock().date()),
            request_id=answer.request_id,
        )

    def most_microcents(self, request: ModelRequest, prompt_tokens: int | None = None) -> int:
        """The most that a call can cost: a token per byte unless they were counted, and the longest answer.

        Where the request asks for the cache, the prompt counts as written to it: the most expensive kind of input.
        """
        prompt = tokens_at_most(*_texts(request)) if prompt_tokens is None else prompt_tokens
        usage = Usage(output_tokens=request.max_tokens, **{DEAREST_INPUT[request.cache]: prompt})
        return cost_microcents(request.model, usage, self._clock().date())

    def count_tokens(self, request: ModelRequest) -> int:
        """The tokens of a prompt, counted by the vendor."""
        body = {name: value for name, value in _body(request).items() if name != "max_tokens"}
        return self._post(COUNT, self._client.messages.with_raw_response.count_tokens, body, _Counted).input_tokens

    def converse(self, request: ConversationRequest) -> ConversationAnswer:
        """Make one call of a conversation with tools.

        Every 200 is an answer with its usage and cost, whatever it stopped for. Everything else raises as in `ask`.
        """
        answer = self._post(
            CREATE,
            self._client.messages.with_raw_response.create,
            conversation_body(request),
            _Said,
            of_installation=False,
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

    def most_to_converse(self, request: ConversationRequest, prompt_tokens: int | None = None) -> int:
        """The most that a call can cost: a token per byte unless they were counted, and the longest answer."""
        prompt = prompt_tokens_at_most(request) if prompt_tokens is None else prompt_tokens
        usage = Usage(output_tokens=request.max_tokens, **{DEAREST_INPUT[request.cache]: prompt})
        return cost_microcents(request.model, usage, self._clock().date())

    def count_prompt(self, request: ConversationRequest) -> int:
        """The tokens of a prompt, counted by the vendor."""
        count = self._client.messages.with_raw_response.count_tokens
        return self._post(COUNT, count, prompt_body(request), _Counted, of_installation=False).input_tokens

    def _answer(self, request: ModelRequest) -> "_Answer":
        return self._post(CREATE, self._client.messages.with_raw_response.create, _body(request), _Answer)

    def _post(
        self,
        method: str,
        call: Callable[..., Any],
        body: dict[str, Any],
        shape: type[Shape],
        *,
        of_installation: bool = True,
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


class _Block(pydantic.BaseModel):
    type: str
    name: str = ""
    input: Any = None


class _Identified(pydantic.BaseModel):
    """An answer with the id that its header carries."""

    request_id: str | None = None

    def identified(self, request_id: str | None) -> Self:
        return self.model_copy(update={"request_id": request_id})


class _Billed(_Identified):
    """The part of a message that is always read; the package's own model is filled without any check."""

    model: str
    stop_reason: str | None = None
    usage: _Usage


class _Answer(_Billed):
    """An answer to a forced call."""

    content: list[_Block] = []


class _Said(_Billed):
    """An answer in a conversation, whose blocks are sent back as they came."""

    content: list[dict[str, Any]] = []


class _Counted(_Identified):
    """A count of tokens."""

    input_tokens: pydantic.NonNegativeInt


def _arguments(answer: _Answer, tool_name: str) -> dict[str, Any] | None:
    if answer.stop_reason != "tool_use":
        return None
    calls = [block for block in answer.content if block.type == "tool_use"]
    if len(calls) != 1 or calls[0].name != tool_name or not isinstance(calls[0].input, dict):
        return None
    return calls[0].input


def _texts(request: ModelRequest) -> Iterator[str]:
    """All of the prompt."""
    yield from (request.system, request.particular, request.mail, request.tool_name, request.tool_description)
    yield json.dumps(request.tool_schema)


def _body(request: ModelRequest) -> dict[str, Any]:
    """The parameters of the call; the vendor caches them in the order tools, system, messages."""
    manner = manner_of(request.model)
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "tools": [_tool(request)],
        "tool_choice": _tool_choice(request, manner),
        "messages": [{"role": "user", "content": request.mail}],
    }
    system = list(_system(request, manner))
    if system:
        body["system"] = system
    if manner.thinking is not None:
        body["thinking"] = {"type": manner.thinking}
    return body


def _tool(request: ModelRequest) -> dict[str, Any]:
    tool = ToolParam(name=request.tool_name, description=request.tool_description, input_schema=request.tool_schema)
    return _cached(tool, request)


def _tool_choice(request: ModelRequest, manner: Manner) -> dict[str, Any]:
    if manner.forces_tool:
        return {"type": "tool", "name": request.tool_name, "disable_parallel_tool_use": True}
    return {"type": "auto", "disable_parallel_tool_use": True}


def _system(request: ModelRequest, manner: Manner) -> Iterator[dict[str, Any]]:
    """The mark stands where the parts end that are the same for all mail (docs: anthropic.md#prompt-cache)."""
    call = "" if manner.forces_tool else CALL_THE_TOOL.format(name=request.tool_name)
    stable = "\n\n".join(filter(None, [request.system, call]))
    if stable:
        yield _cached(TextBlockParam(type="text", text=stable), request)
    if request.particular.strip():
        yield {**TextBlockParam(type="text", text=request.particular)}


def _cached(block: ToolParam | TextBlockParam, request: ModelRequest) -> dict[str, Any]:
    if request.cache is None:
        return {**block}
    return {**block, "cache_control": {"type": "ephemeral", "ttl": request.cache}}

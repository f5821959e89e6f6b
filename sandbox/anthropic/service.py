"""Anthropic's Messages API with the scripted model behind it: answers, usage, ordered faults, errors."""

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox.anthropic.obedient_model import obey_next, obey_within
from sandbox.anthropic.prompt_cache import PromptCache, count_tokens, tokens_of
from sandbox.anthropic.requests import check_headers, check_request
from sandbox.anthropic.scripted_agent import is_conversation, next_call
from sandbox.anthropic.scripted_model import fill_tool, free_text
from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route

ERROR_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error",
    500: "api_error", 503: "api_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
REFUSED: Json = {"type": "refusal", "category": "general_harms", "explanation": "So ordered."}


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's answer before it is counted and cut to `max_tokens`."""

    content: list[Json]
    stop_reason: str
    tool: str | None = None

    def tokens(self) -> int:
        """A plausible count of the output."""
        return max(1, tokens_of(json.dumps(self.content)))


class AnthropicService:
    """One organization; every bearer key is accepted unless `keys` names the valid ones."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """Begin with an empty cache."""
        self.clock = EmulatorClock()
        self.cache = PromptCache(self.clock)
        self.obedient = False
        """Whether the model obeys every order that it reads, for tests of attacks."""
        self._keys = frozenset(keys)
        self.routes: Sequence[Route] = (
            Route("POST", "/v1/messages", "messages.create", self.create),
            Route("POST", "/v1/messages/count_tokens", "messages.count_tokens", self.count),
        )

    def identify(self, call: Call) -> str | None:
        """The start of the key's hash, so that the journal holds no secret."""
        key = check_headers(call.headers)
        if self._keys and key not in self._keys:
            raise ApiFailure(401, "authentication_error", "invalid bearer token")
        return f"key-{hashlib.sha256(key.encode()).hexdigest()[:8]}"

    @contextmanager
    def admit(self, _call: Call) -> Iterator[None]:
        """No limits: 429 is answered only when it is ordered."""
        yield

    def render(self, _call: Call, failure: ApiFailure) -> Answer:
        """Anthropic's error; a reason that is not the type itself is the `error_code` in the details."""
        kind = ERROR_TYPES.get(failure.status, "api_error")
        error: Json = {"type": kind, "message": failure.message}
        if failure.reason and failure.reason not in (kind, "notFound", "parseError"):
            error["details"] = {"error_code": failure.reason}
        request_id = _request_id()
        body = {"type": "error", "error": error, "request_id": request_id}
        return Answer(failure.status, body, {"request-id": request_id})

    def count(self, call: Call) -> Answer:
        """`POST /v1/messages/count_tokens`."""
        request = call.json()
        check_request(request, counting=True)
        tokens = count_tokens(request)
        return Answer(body={"input_tokens": tokens}, headers={"request-id": _request_id()}, summary={"tokens": tokens})

    def create(self, call: Call) -> Answer:
        """`POST /v1/messages`, one answer without streaming."""
        request = call.json()
        check_request(request)
        reply = _cut(_obey(call.order, _reply(request, obedient=self.obedient)), request["max_tokens"], call.order)
        usage = {
            **self.cache.usage(request, f"{call.account}:{request['model']}"),
            "output_tokens": min(reply.tokens(), request["max_tokens"]),
            "service_tier": "standard",
        }
        body = {
            "id": f"msg_scripted_{secrets.token_hex(12)}", "type": "message", "role": "assistant",
            "model": request["model"], "content": reply.content, "stop_reason": reply.stop_reason,
            "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        if reply.stop_reason == "refusal":
            body["stop_details"] = REFUSED
        return Answer(body=body, headers={"request-id": _request_id()}, summary=_summary(call, request, reply, body))

    def reset(self) -> None:
        """Empty cache, real time."""
        self.cache.reset()
        self.clock.reset()
        self.obedient = False

    def close(self) -> None:
        """Nothing runs in the background."""


def _reply(request: Json, *, obedient: bool) -> Reply:
    choice, tools = request.get("tool_choice", {"type": "auto"}), request.get("tools", [])
    if not tools or choice["type"] == "none":
        return Reply([{"type": "text", "text": free_text(request)}], "end_turn")
    if is_conversation(request):
        said = obey_next(request) if obedient else next_call(request)
        return Reply([{"type": "text", "text": said}], "end_turn") if isinstance(said, str) else _tool_reply(*said)
    wanted = choice.get("name") if choice["type"] == "tool" else tools[0]["name"]
    tool = next(each for each in tools if each["name"] == wanted)
    filled = fill_tool(tool, request)
    return _tool_reply(tool["name"], obey_within(filled, tool["input_schema"], request) if obedient else filled)


def _tool_reply(name: str, arguments: Json) -> Reply:
    block = {"type": "tool_use", "id": f"toolu_scripted_{secrets.token_hex(10)}", "name": name, "input": arguments}
    return Reply([block], "tool_use", name)


def _obey(order: Json | None, reply: Reply) -> Reply:
    """A fault's `answer`: `text` instead of a tool call, `tool`, `input`, `input_update`, `stop_reason`."""
    if order is None:
        return reply
    if "text" in order:
        return Reply([{"type": "text", "text": order["text"]}], order.get("stop_reason", "end_turn"))
    if order.get("stop_reason") == "refusal":
        return Reply([], "refusal")
    arguments = reply.content[0].get("input", {})
    changed = order.get("input", {**arguments, **order.get("input_update", {})})
    if reply.tool is None and not {"tool", "input"} & set(order):
        return Reply(reply.content, order.get("stop_reason", reply.stop_reason))
    named = _tool_reply(order.get("tool", reply.tool or "unknown_tool"), changed)
    return Reply(named.content, order.get("stop_reason", "tool_use"), named.tool)


def _cut(reply: Reply, max_tokens: int, order: Json | None) -> Reply:
    """An answer longer than `max_tokens` is cut: a tool call loses its arguments, a text its end."""
    ordered = (order or {}).get("stop_reason") == "max_tokens"
    if reply.stop_reason == "refusal" or (reply.tokens() <= max_tokens and not ordered):
        return reply
    block = dict(reply.content[0])
    if block["type"] == "tool_use":
        block["input"] = {}
    elif "text" not in (order or {}):
        block["text"] = block["text"][: max_tokens * 2]
    return Reply([block], "max_tokens", reply.tool)


def _summary(call: Call, request: Json, reply: Reply, body: Json) -> Json:
    return {
        "message_id": body["id"],
        "model": request["model"],
        "prompt_bytes": len(call.body),
        "prompt_sha256": hashlib.sha256(call.body).hexdigest(),
        "tool": reply.tool,
        "stop_reason": reply.stop_reason,
        "usage": body["usage"],
    }


def _request_id() -> str:
    return f"req_scripted_{secrets.token_hex(12)}"

"""Which requests to the Messages API are refused, as the real one refuses them."""

from collections.abc import Mapping

from sandbox.emulator.exchange import ApiFailure, Json

KNOWN = frozenset({
    "cache_control", "container", "diagnostics", "inference_geo", "max_tokens", "messages", "metadata", "model",
    "output_config", "service_tier", "speed", "stop_sequences", "stream", "system", "thinking", "tool_choice", "tools",
    "user_profile_id", "workspace_id",
})  # fmt: skip
SAMPLING = ("temperature", "top_p", "top_k")
ROLES = frozenset({"user", "assistant", "system"})
CHOICES = frozenset({"auto", "any", "tool", "none"})


def refuse(message: str) -> ApiFailure:
    """400 in Anthropic's words."""
    return ApiFailure(400, "invalid_request_error", message)


def check_headers(headers: Mapping[str, str]) -> str:
    """The bearer key; 401 without one (an `x-api-key` alone is not enough), 400 without a version."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise ApiFailure(401, "authentication_error", "Authorization: Bearer header is required")
    if not headers.get("anthropic-version"):
        raise refuse("anthropic-version: header is required")
    return key.strip()


def check_request(request: Json, *, counting: bool = False) -> None:
    """Refuse what the real service refuses."""
    _check_names(request)
    if not isinstance(request.get("model"), str) or not request["model"]:
        raise refuse("model: Field required")
    limit = request.get("max_tokens")
    if not counting and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise refuse("max_tokens: Input should be greater than or equal to 1")
    _check_messages(request.get("messages"))
    _check_tools(request)
    if request.get("stream"):
        raise ApiFailure(501, "api_error", "this emulator does not stream")


def _check_names(request: Json) -> None:
    for name in SAMPLING:
        if name in request:
            raise refuse(f"{name}: this parameter is not supported by this model")
    unknown = sorted(set(request) - KNOWN)
    if unknown:
        raise refuse(f"{unknown[0]}: Extra inputs are not permitted")


def _check_messages(messages: object) -> None:
    if not isinstance(messages, list) or not messages:
        raise refuse("messages: at least one message is required")
    if any(not isinstance(each, dict) or each.get("role") not in ROLES for each in messages):
        raise refuse("messages: Unexpected role")
    if all(each["role"] != "user" for each in messages):
        raise refuse("messages: at least one user message is required")
    if any(not each.get("content") for each in messages):
        raise refuse("messages: all messages must have non-empty content")
    for said, answer in zip(messages, [*messages[1:], {"role": "user", "content": []}], strict=True):
        _check_pair(said, answer)
    if messages[-1]["role"] == "assistant":
        raise refuse("This model does not support assistant message prefill: the last message must be a user's.")


def _check_pair(said: Json, answer: Json) -> None:
    """Each call of a tool is answered in the very next message, and nothing else is; no text is empty."""
    if any(block.get("type") == "text" and not block.get("text", "").strip() for block in _blocks(said)):
        raise refuse("messages: text content blocks must be non-empty")
    if said["role"] != "assistant":
        return
    called = {block.get("id") for block in _blocks(said) if block.get("type") == "tool_use"}
    answered = {block.get("tool_use_id") for block in _blocks(answer) if block.get("type") == "tool_result"}
    if called - answered:
        raise refuse("messages: `tool_use` ids were found without `tool_result` blocks immediately after")
    if answered - called:
        raise refuse("messages: unexpected `tool_use_id` found in `tool_result` blocks")


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return content if isinstance(content, list) else []


def _check_tools(request: Json) -> None:
    names = [tool.get("name") for tool in request.get("tools", [])]
    if any("input_schema" not in tool for tool in request.get("tools", [])):
        raise refuse("tools.0.input_schema: Field required")
    choice = request.get("tool_choice", {"type": "auto"})
    if choice.get("type") not in CHOICES:
        raise refuse("tool_choice: Input tag does not match any of the expected tags")
    if choice["type"] in ("any", "tool") and not names:
        raise refuse("tool_choice may only be specified while providing tools")
    if choice["type"] == "tool" and choice.get("name") not in names:
        raise refuse(f"Tool '{choice.get('name')}' not found in provided tools")

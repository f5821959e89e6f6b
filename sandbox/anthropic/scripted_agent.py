"""The scripted model in a conversation with tools: a short plan by the kind of mail, one call at a time."""

from collections.abc import Iterator

from sandbox.anthropic.scripted_model import fill_tool
from sandbox.anthropic.scripted_reading import Kind, read_mail, topic
from sandbox.emulator.exchange import Json

PLANS: dict[Kind, tuple[str, ...]] = {
    "question": ("read_thread", "draft_reply"),
    "spam": ("escalate",),
    "receipt": ("apply_label", "archive"),
    "newsletter": ("apply_label", "archive"),
    "notification": ("apply_label", "archive"),
    "statement": (),
}
"""The tools that are called for mail of each kind, as far as they are offered."""


def is_conversation(request: Json) -> bool:
    """Whether a request is a turn of a conversation with tools, and not one call that was asked for."""
    free = request.get("tool_choice", {"type": "auto"})["type"] == "auto"
    return bool(request.get("tools")) and free and (len(request["tools"]) > 1 or bool(list(calls_of(request))))


def next_call(request: Json) -> tuple[str, Json] | str:
    """The next call by the plan, or the last word."""
    opening = first_user_text(request)
    reading = read_mail(opening)
    done = {call["name"] for call in calls_of(request)}
    offered = {tool["name"]: tool for tool in request["tools"]}
    for name in PLANS[reading.kind]:
        if name in offered and name not in done:
            asked = {"messages": [{"role": "user", "content": opening}]}
            return name, fill_tool(offered[name], asked)
    return f"Looked after the thread (subject: {topic(reading)}; {len(done)} calls)."


def calls_of(request: Json) -> Iterator[Json]:
    """The calls of tools that the model has made so far."""
    for message in request["messages"]:
        if message["role"] == "assistant" and isinstance(message["content"], list):
            yield from (block for block in message["content"] if block.get("type") == "tool_use")


def first_user_text(request: Json) -> str:
    """The opening of the conversation, which contains the mail."""
    return next(texts_of(message) for message in request["messages"] if message["role"] == "user")


def everything_seen(request: Json) -> str:
    """The text of the user's messages, the results of tools included."""
    return "\n".join(texts_of(message) for message in request["messages"] if message["role"] == "user")


def texts_of(message: Json) -> str:
    """The texts of a message, those of tools' results included."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(_text_of(block) for block in content)


def _text_of(block: Json) -> str:
    if block.get("type") != "tool_result":
        return str(block.get("text", ""))
    inner = block.get("content", "")
    return inner if isinstance(inner, str) else "\n".join(str(one.get("text", "")) for one in inner)

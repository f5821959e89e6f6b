"""The scripted model in a conversation with tools: a short plan by the kind of mail, one call at a time."""

import re
from collections.abc import Iterator, Mapping

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


FOUND = re.compile(r"\bthread_id: ([\w-]+)")
"""A thread that a search has shown; the newest comes first."""
WHOM_TO_ANSWER = re.compile(r"\banswer ([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
SUBJECT = re.compile(r"^Subject: (.+)$", re.MULTILINE)
BRIEF = re.compile(r"\bthe brief\b", re.IGNORECASE)
FILING = re.compile(r"\bfile (?:it|them|the newest)\b", re.IGNORECASE)


def is_conversation(request: Json) -> bool:
    """Whether a request is a turn of a conversation with tools, and not one call that was asked for."""
    free = request.get("tool_choice", {"type": "auto"})["type"] == "auto"
    names = {tool["name"] for tool in request.get("tools", ())}
    return bool(names) and free and (len(names) > 1 or "escalate" in names or bool(list(calls_of(request))))


def names_threads(tool: Json) -> bool:
    """Whether a tool is that of a run without a thread of its own: each call names one."""
    return "thread_id" in tool["input_schema"].get("required", ())


def next_call(request: Json) -> tuple[str, Json] | str:
    """The next call by the plan, or the last word."""
    opening = first_user_text(request)
    done = {call["name"] for call in calls_of(request)}
    offered = {tool["name"]: tool for tool in request["tools"]}
    if "<<<thread" not in opening and ("read_thread" not in offered or names_threads(offered["read_thread"])):
        plan = _plan_on_mailbox(opening, everything_seen(request), offered)
        left = (one for one in plan if one[0] in offered and one[0] not in done)
        return next(left, _answer(opening, everything_seen(request)))
    reading = read_mail(opening)
    for name in PLANS[reading.kind]:
        if name in offered and name not in done:
            asked = {"messages": [{"role": "user", "content": opening}]}
            return name, fill_tool(offered[name], asked)
    return f"Looked after the thread (subject: {topic(reading)}; {len(done)} calls)."


def _answer(asked: str, seen: str) -> str:
    """The last word of a run that has no thread of its own: a brief if that is asked for."""
    if not BRIEF.search(asked):
        return f"Did what was asked ({len(FOUND.findall(seen))} messages found)."
    subjects = SUBJECT.findall(seen)
    return "\n".join((f"The newest {len(subjects)} messages:", *(f"- {subject}" for subject in subjects)))


def _plan_on_mailbox(asked: str, seen: str, offered: Mapping[str, Json]) -> list[tuple[str, Json]]:
    """The calls of a run without a thread of its own, by what it is asked: to answer somebody, to file, or to look."""
    thread = {"thread_id": next(iter(FOUND.findall(seen)), "none")}
    person = WHOM_TO_ANSWER.search(asked)
    if person:
        words = thread | {"body": "Yes, that suits me."}
        search = ("search_mail", {"person": person[1]})
        return [search, ("read_thread", thread), ("draft_reply", words), ("reply", words)]
    if FILING.search(asked) and "apply_label" in offered:
        label = offered["apply_label"]["input_schema"]["properties"]["label"]["enum"][0]
        return [("search_mail", {}), ("apply_label", thread | {"label": label}), ("archive", thread)]
    return [("search_mail", {})]


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

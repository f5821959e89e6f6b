"""Questions of approvals as messages of Discord's, and back: words that are shown and never obeyed, two buttons.

Mail text is in code spans, where Discord reads no markup, no mention and no link (docs: discord.md#hostile-text).
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain.approvals.decision import Choice
from domain.approvals.question import Fact, Question

LONGEST_CONTENT = 2000
"""Discord refuses a longer message as a whole (docs: discord.md#messages)."""
LONGEST_NONCE = 25
LONGEST_CUSTOM_ID = 100

SUPPRESS_EMBEDS = 1 << 2
"""No preview: neither a question nor an alert fetches anything from anywhere."""
NOBODY: dict[str, list[str]] = {"parse": []}
"""`allowed_mentions`: nobody is called, whatever a mail says, or however a job type is named."""

ACTION_ROW, BUTTON = 1, 2
GREEN, RED = 3, 4

_MARK = "postroom"
_STYLES = {Choice.APPROVE: (GREEN, "Approve"), Choice.DENY: (RED, "Deny")}


@dataclass(frozen=True, slots=True)
class Press:
    """Which button of which question. It grants nothing: the signature proves Discord, and the actor is checked."""

    choice: Choice
    approval_id: UUID
    number: int


def nonce_of(question: Question) -> str:
    """By which Discord knows a repeated question for some minutes; the same for each attempt."""
    digest = hashlib.sha256(f"{_MARK}:{question.approval_id}:{question.number}".encode()).digest()
    return base64.b32encode(digest).decode().lower()[:LONGEST_NONCE]


def custom_id_of(press: Press) -> str:
    """What the button carries."""
    return f"{_MARK}:{press.choice}:{press.approval_id}:{press.number}"


def read_custom_id(text: str) -> Press | None:
    """The press behind a button's `custom_id`; None for a button that is not ours."""
    if len(text) > LONGEST_CUSTOM_ID:
        return None
    parts = text.split(":")
    if len(parts) != 4 or parts[0] != _MARK or parts[3] not in {"0", "1"}:  # noqa: PLR2004 - as it is written
        return None
    try:
        found = Press(Choice(parts[1]), UUID(parts[2]), int(parts[3]))
    except ValueError:
        return None
    return found if custom_id_of(found) == text else None


def body_of(question: Question) -> bytes:
    """The request that posts a question; the same bytes for each attempt."""
    message = {
        "content": content_of(question),
        "nonce": nonce_of(question),
        "enforce_nonce": True,
        "allowed_mentions": NOBODY,
        "flags": SUPPRESS_EMBEDS,
        "components": [_buttons(question)],
    }
    return json.dumps(message).encode()


def outcome_document(content: str) -> dict[str, Any]:
    """A message without buttons, which tells how its question ended."""
    return {
        "content": content[:LONGEST_CONTENT],
        "allowed_mentions": NOBODY,
        "flags": SUPPRESS_EMBEDS,
        "components": [],
    }


def content_of(question: Question) -> str:
    """Title, facts, the end of the time and the action's id, within Discord's limit."""
    ends = f"Until <t:{int(question.expires_at.timestamp())}:f>, else it expires."
    return "\n".join([*_head(question), ends, f"Approval {code(str(question.approval_id))}"])[:LONGEST_CONTENT]


def ended_content(question: Question, words: str) -> str:
    """The question's words, and how it ended."""
    return "\n".join([*_head(question), f"**{plain(words)}**", f"Approval {code(str(question.approval_id))}"])[
        :LONGEST_CONTENT
    ]


def code(text: str) -> str:
    """The text in a code span; a grave accent, which would end it, is shown as its modifier letter."""
    return f"`{text.replace('`', 'ˋ')}`" if text.strip() else "`none`"  # noqa: RUF001 - a look-alike on purpose


def plain(text: str) -> str:
    """Words with a person's in them, in which Discord reads no markup, mention or link."""
    escaped = "".join(f"\\{letter}" if letter in "\\*_~`|>[]()#<-" else letter for letter in text)
    return escaped.replace("@", "@\u200b").replace("://", ":\u200b//")


def is_question(message: dict[str, Any], question: Question) -> bool:
    """Whether a message of the channel is this question: by its buttons, which only the bot's own messages carry."""
    wanted = {custom_id_of(Press(choice, question.approval_id, question.number)) for choice in Choice}
    rows = message.get("components")
    buttons = [
        button
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("components"), list)
        for button in row["components"]
        if isinstance(button, dict)
    ]
    return wanted <= {str(button.get("custom_id")) for button in buttons}


def _head(question: Question) -> list[str]:
    return [f"**{plain(question.title)}**", *map(_line, question.facts)]


def _line(fact: Fact) -> str:
    return f"{plain(fact.name)}: {code(fact.value)}"


def _buttons(question: Question) -> dict[str, Any]:
    pressed = [(choice, custom_id_of(Press(choice, question.approval_id, question.number))) for choice in Choice]
    return {
        "type": ACTION_ROW,
        "components": [
            {"type": BUTTON, "style": _STYLES[choice][0], "label": _STYLES[choice][1], "custom_id": custom_id}
            for choice, custom_id in pressed
        ],
    }

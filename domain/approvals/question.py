"""What a person is asked, and how it ended: a subject in words, bounded, with foreign text that is shown, never obeyed.

Some words come from mail or from a job's output, so a sender chooses them. They are put on one line, cut, without
characters that turn or hide text, and without what looks like a secret. How they are kept from being read as markup is
the channel's.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any
from uuid import UUID

from domain.approvals.decision import ApprovalStanding, ApprovalState, Refusal
from domain.jobs.job import JsonObject
from domain.mail.actions.kinds import ActionKind
from domain.orgs.privacy.redaction import redact_text
from domain.orgs.spelling.normal_form import visible

LONGEST_VALUE = 160
"""Characters of one value: a subject is known by its beginning, and eight of them fit into a message of Discord's."""
MOST_SHOWN = 4
"""Recipients that a question names. It counts the others, and its reader looks them up before approving."""
LONGEST_RECIPIENTS = 280
"""Characters of an address, or of several together. A domain may have 255, and it is never cut."""
LONGEST_RECIPIENT = 60
"""Characters of one among several, where its domain has no more."""
LONGEST_DOMAIN = 255
FEWEST_OF_LOCAL_PART = 16
LONGEST_FILE_NAME = 40
LONGEST_LABEL = 40
LONGEST_SHOWN = 600
"""Characters of a value that a node shows by itself; the whole value is shown where a person looks it up."""
MOST_MEMBERS = 6
"""Of an object that a node shows."""
READ_AT_MOST = 2_000
"""Characters of a value that are looked at: the cost of a question does not depend on a sender."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the question: what it is, in our words, and its value, in whoever's."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Question:
    """What waits for a decision, in words; the same for each attempt to post it."""

    approval_id: UUID
    """The action's id, or that of the node's wait."""
    number: int
    """0 for the first time a person is asked, 1 for the reminder."""
    title: str
    facts: tuple[Fact, ...]
    expires_at: datetime

    @property
    def document(self) -> JsonObject:
        """As a template says it."""
        facts = [{"name": one.name, "value": one.value} for one in self.facts]
        until = self.expires_at.isoformat()
        return {"approval_id": str(self.approval_id), "title": self.title, "facts": facts, "until": until}


@dataclass(frozen=True, slots=True)
class AskedAction:
    """What a question about an action is made from."""

    action_id: UUID
    kind: ActionKind
    parameters: Mapping[str, Any]
    reasons: Sequence[str]
    expires_at: datetime
    mailbox: str
    sender: str
    subject: str


@dataclass(frozen=True, slots=True)
class AskedNode:
    """What a question of a workflow's node is made from."""

    approval_id: UUID
    workflow: str
    node: str
    run_id: UUID
    question: str
    shown: object
    """The JSON value that the person is to judge."""
    expires_at: datetime


def node_question(asked: AskedNode, *, number: int) -> Question:
    """The question that a node asks; total and bounded for any value that it shows."""
    title = one_line(asked.question) or "A workflow waits for approval"
    facts = (
        *_shown_facts(asked.shown),
        Fact("Workflow", one_line(asked.workflow)),
        Fact("Node", one_line(asked.node)),
        Fact("Run", str(asked.run_id)),
    )
    words = f"Reminder: {title}" if number else title
    return Question(asked.approval_id, number, words, facts, asked.expires_at)


def _shown_facts(value: object) -> list[Fact]:
    """An object by its first members, any other value as one."""
    if value is None:
        return []
    if not isinstance(value, Mapping):
        return [_shown_fact("Shown", value, LONGEST_SHOWN)]
    named = [_shown_fact(str(name), value[name], LONGEST_VALUE) for name in list(value)[:MOST_MEMBERS]]
    hidden = len(value) - len(named)
    return [*named, Fact("More", f"{hidden} others")] if hidden else named


def _shown_fact(name: str, value: object, most: int) -> Fact:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    label = one_line(name, LONGEST_LABEL) or "Shown"
    return Fact(label if len(text) <= most else f"{label} ({len(text)} characters)", one_line(text, most))


def question_of(asked: AskedAction, *, number: int) -> Question:
    """The question that an action asks; total and bounded for any mail."""
    facts = [
        Fact("Mailbox", shown_address(asked.mailbox)),
        Fact("From", shown_address(asked.sender or "nobody")),
        Fact("Subject", one_line(asked.subject or "none")),
        *_parameters(asked.parameters),
        Fact("Why a person is asked", one_line("; ".join(asked.reasons) or "the policy says so")),
    ]
    word = str(asked.kind).replace("_", " ")
    title = f"Reminder: {word} still waits for approval" if number else f"{word.capitalize()} waits for approval"
    return Question(asked.action_id, number, title, tuple(facts), asked.expires_at)


def one_line(text: str, most: int = LONGEST_VALUE) -> str:
    """The text on one line of visible characters, without secrets, cut to `most`."""
    line = "".join(_shown(letter) for letter in visible(text)[:READ_AT_MOST])
    plain = redact_text(" ".join(line.split()))
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def shown_address(text: str, most: int = LONGEST_VALUE) -> str:
    """An address on one line: its local part is cut in the middle, and its domain, which says whose it is, never."""
    line = one_line(text, READ_AT_MOST)
    local, at, domain = line.rpartition("@")
    if len(line) <= most or not at:
        return one_line(line, most)
    kept = max(most - len(domain) - 2, FEWEST_OF_LOCAL_PART)
    end = kept // 2
    return f"{local if len(local) <= kept else f'{local[: kept - end]}…{local[-end:]}'}@{domain[-LONGEST_DOMAIN:]}"


def _shown(letter: str) -> str:
    """Nothing for what turns or hides text (bidirectional marks, joiners), a space for other controls."""
    category = unicodedata.category(letter)
    if category in {"Cf", "Cs", "Co", "Cn"}:
        return ""
    return " " if category in {"Cc", "Zl", "Zp", "Zs"} else letter


def _parameters(parameters: Mapping[str, Any]) -> list[Fact]:
    facts = []
    for name in sorted(parameters)[:MOST_SHOWN]:
        value = parameters[name]
        words = one_line(name.replace("_", " "), LONGEST_LABEL).capitalize()
        if isinstance(value, list | tuple):
            named = _named(value)
            more = len(value) > len(named)
            facts.append(Fact(f"{words} ({len(value)})" if more else words, ", ".join(named)))
        else:
            text = str(value)
            name_and_size = words if len(text) <= LONGEST_VALUE else f"{words} ({len(text)} characters)"
            facts.append(Fact(name_and_size, one_line(text)))
    return facts


def _named(values: Sequence[object]) -> list[str]:
    """The first entries of a list, as many as fit whole, and at least one."""
    shown = [shown_address(_entry(one), LONGEST_RECIPIENT) for one in values[:MOST_SHOWN]]
    ends = list(accumulate(len(one) + 2 for one in shown))
    return [one for place, one in enumerate(shown) if place == 0 or ends[place] <= LONGEST_RECIPIENTS]


def _entry(value: object) -> str:
    """One entry of a list; of a file its name and size, which is what a person can judge."""
    if isinstance(value, Mapping) and "filename" in value:
        name = str(value["filename"])
        # Of a long name the end: it says what kind of file a reader will open.
        shown = name if len(name) <= LONGEST_FILE_NAME else f"…{name[-LONGEST_FILE_NAME + 1 :]}"
        return f"{shown} ({value.get('size')} bytes)"
    return str(value)


OUTCOMES: Mapping[ApprovalState, str] = {
    ApprovalState.WAITING: "It waits for a decision",
    ApprovalState.UNASKED: "It goes ahead without a decision",
    ApprovalState.APPROVED: "Approved",
    ApprovalState.DENIED: "Denied",
    ApprovalState.LAPSED: "Approved",
    ApprovalState.EXPIRED: "Expired: nobody decided in time.",
    ApprovalState.CANCELED: "Canceled",
}

LATE = ", but not begun in time. It is not executed."

WORDS: Mapping[Refusal, str] = {
    Refusal.NOT_HERE: "Nothing can be decided here with this button.",
    Refusal.NOT_AN_APPROVER: "You may not decide about this. Ask an owner of the org to make you an approver.",
    Refusal.DECIDED: "This was decided already.",
    Refusal.ENDED: "This waits for no decision any more.",
    Refusal.EXPIRED: "The time to decide is over.",
}

_WITH_OUTCOME = frozenset({Refusal.DECIDED, Refusal.ENDED})


def outcome_of(standing: ApprovalStanding) -> str:
    """How the question ended, on one line."""
    decider = None if standing.state is ApprovalState.CANCELED else standing.decider
    by = f" by {shown_address(decider, 100)}" if decider else ""
    why = f": {one_line(standing.reason)}" if standing.reason else ""
    return f"{OUTCOMES[standing.state]}{by}{LATE if standing.state is ApprovalState.LAPSED else why}"


def refusal_words(refusal: Refusal, outcome: str) -> str:
    """Why a choice does not count, with how the question ended where whoever chose may know it."""
    return f"{WORDS[refusal]} {outcome}" if refusal in _WITH_OUTCOME else WORDS[refusal]

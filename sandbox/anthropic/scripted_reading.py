"""What the scripted model reads in a mail: subject, sender, and by plain rules whether it needs an answer."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["question", "spam", "receipt", "newsletter", "notification", "statement"]

FIELD = r"(?i)(?:^|[\n<{{,\"])\s*\"?{name}\"?\s*[:>=]\s*\"?([^\n]+)"
REQUEST = re.compile(
    r"\b(could|can|would|will) you\b|\bplease (let|send|confirm|review|reply|answer|tell|advise|call|check|have a look)"
    r"|\blet (me|us) know\b|\bwhat do you think\b|\bdo you (know|have|want)\b|\bare you (able|free|coming)\b",
    re.IGNORECASE,
)
KINDS: tuple[tuple[Kind, int, str], ...] = (
    # kind, least number of matches, pattern
    ("receipt", 1, r"\b(receipt|invoice|order (number|confirmation)|your order|payment received)\b"),
    ("spam", 2, r"\b(lottery|viagra|mortgage|act now|make money|no obligation|winner|sales leads)\b|\${2,}"),
    ("spam", 2, r"\b(million (us )?dollars|bulk e?-?mail|100% free|direct marketing|confidential business)\b"),
    ("newsletter", 1, r"\b(unsubscribe|newsletter|view (it )?in (your )?browser|to be removed)\b"),
    ("notification", 1, r"\b(no-?reply|do not reply|automated message|notifications?@|mailer-daemon|cron)\b"),
)
PREFIX = re.compile(r"^((re|fwd?)\s*:\s*)+", re.IGNORECASE)
WISH = re.compile(r"The owner is not content with your draft and asks for this: ([^\n]+)")
SHORTEST_QUESTION = 8
LONGEST_QUESTION = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """A mail as the rules read it."""

    subject: str
    sender: str
    kind: Kind
    question: str
    """The first question put to the reader, or an empty text."""
    urgent: bool
    wish: str = ""
    """What the owner asks of a draft that is written anew."""

    @property
    def needs_answer(self) -> bool:
        """Whether the mail asks something of its reader."""
        return self.kind == "question"


def read_mail(prompt: str) -> Reading:
    """Read the last mail of a prompt, from its subject on; the text before the subject counts as instructions."""
    text = _latest(prompt.replace("\\r", "").replace("\\n", "\n"))
    found = re.search(FIELD.format(name="subject"), text)
    subject = _clean(found.group(1)) if found else ""
    sender = _field(text, "from") or _field(text, "sender")
    body = _own_words(text[found.end() :] if found else text)
    whole = f"{sender}\n{subject}\n{body}".lower()
    kind = next((kind for kind, least, signs in KINDS if len(re.findall(signs, whole)) >= least), None)
    question = _question(re.split(r"\n-{20,}\n", body)[0]) or (
        subject if subject.endswith("?") and not PREFIX.match(subject) else ""
    )
    wish = WISH.match(prompt)  # at the very beginning, which no mail reaches
    return Reading(
        subject=subject,
        sender=sender,
        kind=kind or ("question" if question else "statement"),
        question=question,
        urgent=_is_urgent(text),
        wish=_clean(wish.group(1)) if wish else "",
    )


def topic(reading: Reading) -> str:
    """The subject without reply prefixes."""
    return PREFIX.sub("", reading.subject).strip() or "your message"


def first_name(reading: Reading) -> str:
    """How to greet the sender."""
    name = re.sub(r"<.*|\"|\(.*", "", reading.sender).strip() or reading.sender
    word = re.split(r"[\s@.,]+", name)[0]
    return word.capitalize() if word.isalpha() else "there"


def _latest(text: str) -> str:
    """The last message with a subject; the messages of a thread are separated by lines like `--- next message ---`."""
    messages = re.split(r"\n-{3} [a-z ]+ -{3}\n", text)
    return next((message for message in reversed(messages) if re.search(FIELD.format(name="subject"), message)), text)


def _field(text: str, name: str) -> str:
    found = re.search(FIELD.format(name=name), text)
    return _clean(found.group(1)) if found else ""


def _clean(value: str) -> str:
    value = re.split(r"</|\"\s*[,}]", value)[0]
    return value.strip().strip('"').strip()


def _own_words(body: str) -> str:
    """The body without quoted lines, copies of other messages, signature, mailing-list footer and URLs."""
    own = re.split(r"\n(?:-- |_{10,}|\[What follows looks like a copy of another message\.\])\n", body)[0]
    lines = [line for line in own.splitlines() if not line.lstrip().startswith((">", "|"))]
    return re.sub(r"https?://\S+|www\.\S+", "", "\n".join(lines))


def _question(text: str) -> str:
    for sentence in re.split(r"(?<=[.?!])\s+|\n\s*\n", text):
        flat = " ".join(sentence.split())
        if (flat.endswith("?") and len(flat) >= SHORTEST_QUESTION) or REQUEST.search(flat):
            return flat if len(flat) <= LONGEST_QUESTION else f"… {flat[-LONGEST_QUESTION:].partition(' ')[2]}"
    return ""


def _is_urgent(text: str) -> bool:
    return re.search(r"(?i)\b(urgent|asap|immediately|deadline|by (today|tonight|tomorrow))\b", text) is not None

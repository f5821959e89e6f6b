"""The part of Gmail's search that jobs use: operators and plain words, joined by AND, negated by a minus."""

import re
import shlex
from collections.abc import Callable, Collection
from datetime import UTC, datetime

from sandbox.emulator.exchange import ApiFailure, Call
from sandbox.google.mailbox.mailbox import Mailbox, MailMessage
from sandbox.google.mailbox.rfc822 import first_text, header_of, own_id, parts_of

Matcher = Callable[[Mailbox, MailMessage, str], bool]
PLACES = {"inbox": "INBOX", "sent": "SENT", "draft": "DRAFT", "drafts": "DRAFT", "trash": "TRASH", "spam": "SPAM"}
SPANS = {"h": 3_600, "d": 86_400, "m": 30 * 86_400, "y": 365 * 86_400}
LEFT_OUT = frozenset({"SPAM", "TRASH"})


def search(
    mailbox: Mailbox, query: str, label_ids: Collection[str] = (), *, spam_and_trash: bool = False
) -> list[MailMessage]:
    """Messages that match, newest first; a message that lags is missed, and each search shortens its lag by one."""
    terms = _terms(query)
    named = {PLACES.get(value) for name, value, _ in terms if name == "in"} | set(label_ids)
    hide = frozenset() if spam_and_trash or ("in", "anywhere", False) in terms else LEFT_OUT - named
    found = [
        message
        for message in mailbox.messages.values()
        if not (hide & message.label_ids)
        and set(label_ids) <= message.label_ids
        and all(MATCHERS[name](mailbox, message, value) != negated for name, value, negated in terms)
        and _is_seen(message)
    ]
    return sorted(found, key=lambda message: (message.internal_date, message.sequence), reverse=True)


def search_for(mailbox: Mailbox, call: Call) -> list[MailMessage]:
    """The messages that a call of `messages.list` or `threads.list` asks for, newest first."""
    return search(
        mailbox,
        call.first("q"),
        call.query.get("labelIds", ()),
        spam_and_trash=call.first("includeSpamTrash") == "true",
    )


def _is_seen(message: MailMessage) -> bool:
    if message.hidden_searches > 0:
        message.hidden_searches -= 1
        return False
    return message.hidden_gets == 0


def _terms(query: str) -> list[tuple[str, str, bool]]:
    try:
        words = shlex.split(query.replace("'", r"\'"))
    except ValueError as error:
        raise ApiFailure(400, "invalidArgument", f"Invalid query: {query}") from error
    return [_term(word) for word in words]


def _term(word: str) -> tuple[str, str, bool]:
    negated = word.startswith("-")
    name, colon, value = word.removeprefix("-").partition(":")
    if not colon:
        if word in {"OR", "AND", "AROUND"} or re.search(r"[(){}]", word):
            raise ApiFailure(501, "notImplemented", f"this emulator's search does not know {word!r}")
        return "words", word.removeprefix("-").lower(), negated
    if name.lower() not in MATCHERS:
        raise ApiFailure(501, "notImplemented", f"this emulator's search does not know {name!r}")
    return name.lower(), value.lower(), negated


def _header(name: str) -> Matcher:
    return lambda _mailbox, message, value: value in header_of(message.headers, name).lower()


def _moment(value: str) -> float:
    if value.isdigit():
        return float(value)
    found = re.fullmatch(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})", value)
    if not found:
        raise ApiFailure(400, "invalidArgument", f"Invalid date: {value}")
    year, month, day = (int(part) for part in found.groups())
    return datetime(year, month, day, tzinfo=UTC).timestamp()


def _span(value: str) -> float:
    if not re.fullmatch(r"\d+[hdmy]", value):
        raise ApiFailure(400, "invalidArgument", f"Invalid age: {value}")
    return float(int(value[:-1]) * SPANS[value[-1]])


def _age(mailbox: Mailbox, message: MailMessage) -> float:
    return mailbox.clock.now() - message.internal_date / 1000


def _has_label(mailbox: Mailbox, message: MailMessage, value: str) -> bool:
    wanted = _label_form(value)
    labels = {label.label_id: label.name for label in mailbox.labels.all()}
    return any(_label_form(labels.get(label_id, label_id)) == wanted for label_id in message.label_ids)


def _label_form(name: str) -> str:
    """Search writes blanks and slashes of a label's name as hyphens."""
    return re.sub(r"[\s/]", "-", name.casefold())


def _is_in(_mailbox: Mailbox, message: MailMessage, value: str) -> bool:
    return value == "anywhere" or PLACES.get(value, value.upper()) in message.label_ids


def _is(_mailbox: Mailbox, message: MailMessage, value: str) -> bool:
    return "UNREAD" not in message.label_ids if value == "read" else value.upper() in message.label_ids


def _has_words(_mailbox: Mailbox, message: MailMessage, value: str) -> bool:
    text = f"{header_of(message.headers, 'Subject')} {header_of(message.headers, 'From')}"
    return value in f"{text} {first_text(parts_of(message.raw))}".lower()


def _has_message_id(_mailbox: Mailbox, message: MailMessage, value: str) -> bool:
    return own_id(message.headers).strip("<>").lower() == value.strip("<>")


MATCHERS: dict[str, Matcher] = {
    "after": lambda _mailbox, message, value: message.internal_date / 1000 >= _moment(value),
    "before": lambda _mailbox, message, value: message.internal_date / 1000 < _moment(value),
    "from": _header("From"),
    "in": _is_in,
    "is": _is,
    "label": _has_label,
    "newer_than": lambda mailbox, message, value: _age(mailbox, message) <= _span(value),
    "older_than": lambda mailbox, message, value: _age(mailbox, message) > _span(value),
    "rfc822msgid": _has_message_id,
    "subject": _header("Subject"),
    "to": _header("To"),
    "words": _has_words,
}

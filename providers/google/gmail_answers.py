"""Reads Gmail's JSON answers into the values of `domain.mail.mailbox`, without I/O.

An answer without a documented field raises `LookupError`, `ValueError` or `TypeError`.
"""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from domain.mail.mailbox import (
    AttachmentPart,
    Change,
    ChangeKind,
    Draft,
    HistoryPage,
    MailboxLabel,
    MessageFacts,
    MessagePage,
    MessageRef,
    Profile,
    RawMessage,
    SenderAddress,
    ThreadFacts,
    Watch,
)
from domain.mail.parsing.html_text import html_to_text

Answer = dict[str, Any]

CHANGES: tuple[tuple[str, ChangeKind], ...] = (
    ("messagesAdded", "message_added"),
    ("messagesDeleted", "message_deleted"),
    ("labelsAdded", "labels_added"),
    ("labelsRemoved", "labels_removed"),
)
"""The lists of a history record. `messages` beside them repeats what they say, so it is not read."""


def profile(answer: Answer) -> Profile:
    """The mailbox's address and its newest history id."""
    return Profile(email=str(answer["emailAddress"]), history_id=int(answer["historyId"]))


def history_page(answer: Answer) -> HistoryPage:
    """A page may have no `history` and yet a next page (docs: gmail.md#history)."""
    changes = tuple(change for record in answer.get("history", ()) for change in _changes(record))
    return HistoryPage(changes, answer.get("nextPageToken"), int(answer["historyId"]))


def _changes(record: Answer) -> Iterator[Change]:
    history_id = int(record["id"])
    for key, kind in CHANGES:
        for entry in record.get(key, ()):
            message = entry["message"]
            # A label change names the labels beside the message; a new or deleted message carries its own.
            labels = entry if kind.startswith("labels_") else message
            yield Change(history_id, kind, message["id"], message.get("threadId", ""), label_ids(labels))


def label_ids(answer: Answer) -> frozenset[str]:
    """A message without any label has no `labelIds` at all."""
    return frozenset(answer.get("labelIds", ()))


def message_page(answer: Answer) -> MessagePage:
    """An empty result has no `messages`."""
    refs = tuple(MessageRef(item["id"], item["threadId"]) for item in answer.get("messages", ()))
    return MessagePage(refs, answer.get("nextPageToken"))


def raw_message(answer: Answer) -> RawMessage:
    """A message in format `raw`."""
    raw = _decoded(answer["raw"])
    return RawMessage(
        message_id=answer["id"],
        thread_id=answer["threadId"],
        history_id=int(answer["historyId"]),
        label_ids=label_ids(answer),
        received_at=_moment(answer["internalDate"]),
        raw=raw,
        size=int(answer.get("sizeEstimate", len(raw))),
    )


def message_facts(answer: Answer) -> MessageFacts:
    """A message in format `metadata`."""
    return MessageFacts(
        message_id=answer["id"],
        thread_id=answer["threadId"],
        history_id=int(answer["historyId"]),
        label_ids=label_ids(answer),
        received_at=_moment(answer["internalDate"]),
        headers=_headers(answer.get("payload", {})),
    )


def attachments(answer: Answer) -> tuple[AttachmentPart, ...]:
    """The parts of a message in format `full` that have a file name, in order; of nested messages the outer one."""
    return tuple(_files(answer.get("payload", {})))


def _files(part: Answer) -> Iterator[AttachmentPart]:
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if one.get("filename"):
            body = one.get("body", {})
            data, attachment_id = body.get("data"), body.get("attachmentId")
            yield AttachmentPart(
                part_id=one.get("partId", ""),
                filename=one["filename"],
                content_type=one.get("mimeType", ""),
                size=int(body.get("size", 0)),
                attachment_id=attachment_id,
                data=_decoded(data) if data and not attachment_id else None,
            )
        else:
            waiting += reversed(one.get("parts", ()))


def attachment(answer: Answer) -> bytes:
    """The content of a file; an empty one has no `data`."""
    return _decoded(answer.get("data", ""))


def send_as(answer: Answer) -> tuple[SenderAddress, ...]:
    """The addresses that mail may be written from; the account's own has no `verificationStatus`."""
    return tuple(
        SenderAddress(
            address=item["sendAsEmail"].lower(),
            name=item.get("displayName", ""),
            reply_to=item.get("replyToAddress") or None,
            signature=html_to_text(item.get("signature", "")),
            is_primary=item.get("isPrimary") is True,
            is_default=item.get("isDefault") is True,
            is_verified=item.get("isPrimary") is True or item.get("verificationStatus") == "accepted",
        )
        for item in answer.get("sendAs", ())
    )


def sent_message(answer: Answer, now: datetime) -> MessageFacts:
    """The answer of `drafts.send`: ids and labels; history id and date may be missing, headers are not read."""
    return MessageFacts(
        message_id=answer["id"],
        thread_id=answer["threadId"],
        history_id=int(answer.get("historyId", 0)),
        label_ids=label_ids(answer),
        received_at=_moment(answer["internalDate"]) if "internalDate" in answer else now,
    )


def thread_facts(answer: Answer) -> ThreadFacts:
    """A thread in format `metadata`."""
    messages = tuple(message_facts(message) for message in answer.get("messages", ()))
    return ThreadFacts(answer["id"], int(answer["historyId"]), messages)


def label(answer: Answer) -> MailboxLabel:
    """A label; every type other than `system` counts as the user's."""
    return MailboxLabel(answer["id"], answer["name"], "system" if answer.get("type") == "system" else "user")


def labels(answer: Answer) -> tuple[MailboxLabel, ...]:
    """All labels."""
    return tuple(label(item) for item in answer.get("labels", ()))


def draft(answer: Answer) -> Draft:
    """A draft with its message's ids and, where Gmail says them, labels."""
    message = answer["message"]
    return Draft(answer["id"], message["id"], message["threadId"], label_ids(message))


def draft_page(answer: Answer) -> tuple[tuple[Draft, ...], str | None]:
    """One page of drafts and the next page's token."""
    return tuple(draft(item) for item in answer.get("drafts", ())), answer.get("nextPageToken")


def watch(answer: Answer) -> Watch:
    """A push watch; Gmail sends `expiration` as a string of milliseconds since the epoch."""
    return Watch(int(answer["historyId"]), _moment(answer["expiration"]))


def encoded(raw: bytes) -> str:
    """RFC 822 bytes encoded for Gmail's field `raw`: base64 with the URL-safe alphabet."""
    return base64.urlsafe_b64encode(raw).decode("ascii")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _moment(milliseconds: str) -> datetime:
    seconds, rest = divmod(int(milliseconds), 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)


def _headers(payload: Answer) -> dict[str, str]:
    found: dict[str, str] = {}
    for header in payload.get("headers", ()):
        found.setdefault(header["name"].lower(), header["value"])
    return found

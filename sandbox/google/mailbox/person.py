"""What a person does in Gmail's user interface, with the history records that this leaves."""

from collections.abc import Collection

from sandbox.emulator.exchange import ApiFailure, Json
from sandbox.google.mailbox.drafts import send_draft, update_draft
from sandbox.google.mailbox.mailbox import Draft, Mailbox, MailMessage
from sandbox.google.mailbox.rfc822 import header_of, headers_of, plain_subject, replace_header


def edit_draft(mailbox: Mailbox, draft_id: str, wish: Json, raw: bytes | None) -> Draft:
    """Write another `text` or `subject`, or a whole other `raw`; a changed subject starts another thread."""
    draft = mailbox.drafts.get(draft_id)
    if draft is None:
        raise ApiFailure(404, "notFound", f"no draft {draft_id}")
    old = mailbox.message(draft.message_id)
    new = raw if raw is not None else _rewritten(old.raw, wish)
    same = plain_subject(header_of(headers_of(new), "Subject")) == plain_subject(header_of(old.headers, "Subject"))
    edited = update_draft(mailbox, draft_id, new, old.thread_id if same else None)
    mailbox.message(edited.message_id).ghost = old.ghost and same
    return edited


def send_as_person(mailbox: Mailbox, draft_id: str) -> MailMessage:
    """Press "Send"."""
    return send_draft(mailbox, draft_id)


def chosen(mailbox: Mailbox, wish: Json) -> list[MailMessage]:
    """The messages meant: one by `message_id`, or all of a thread by `thread_id`."""
    if wish.get("message_id"):
        return [mailbox.message(wish["message_id"])]
    messages = mailbox.thread(wish.get("thread_id", ""))
    if not messages:
        raise ApiFailure(404, "notFound", "a message_id or a thread_id with messages must be given")
    return messages


def relabel(mailbox: Mailbox, messages: Collection[MailMessage], add: list[str], remove: list[str]) -> None:
    """Put labels on and take them off, by id or name; an unknown id becomes a phantom.

    Drafts carry no labels; but one that is chosen alone can be moved to the trash, to spam, and back.
    """
    added, removed = [_label_id(mailbox, name) for name in add], [_label_id(mailbox, name) for name in remove]
    moves = len(messages) == 1 and {"TRASH", "SPAM"}.issuperset([*added, *removed])
    for message in messages:
        if moves or not mailbox.is_draft(message):
            mailbox.relabel(message, added, removed)


def delete_for_good(mailbox: Mailbox, messages: Collection[MailMessage]) -> None:
    """Delete messages, and the drafts that have them."""
    for message in messages:
        draft = mailbox.draft_of(message.message_id)
        if draft:
            del mailbox.drafts[draft.draft_id]
        mailbox.remove(message)


def state_of(mailbox: Mailbox) -> Json:
    """The whole mailbox without raw bytes, for assertions."""
    return {
        "email": mailbox.email,
        "history_id": mailbox.history.current,
        "history_floor": mailbox.history.floor,
        "messages": [_message_state(message) for message in mailbox.messages.values()],
        "drafts": [_draft_state(mailbox, draft) for draft in mailbox.drafts.values()],
        "labels": [label.as_json() for label in mailbox.labels.all()],
        "threads": _thread_state(mailbox),
    }


def _label_id(mailbox: Mailbox, name: str) -> str:
    label = mailbox.labels.named(name)
    return label.label_id if label else name


def _rewritten(raw: bytes, wish: Json) -> bytes:
    head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    if "text" in wish:
        head = replace_header(head + b"\n\n", "Content-Type", 'text/plain; charset="utf-8"').rstrip(b"\n")
        head = replace_header(head + b"\n\n", "Content-Transfer-Encoding", "8bit").rstrip(b"\n")
        body = wish["text"].encode()
    if "subject" in wish:
        head = replace_header(head + b"\n\n", "Subject", wish["subject"]).rstrip(b"\n")
    return (head + b"\n\n" + body).replace(b"\n", b"\r\n")


def _message_state(message: MailMessage) -> Json:
    return {
        "message_id": message.message_id,
        "thread_id": message.thread_id,
        "label_ids": sorted(message.label_ids),
        "history_id": message.history_id,
        "internal_date": message.internal_date,
        "size": len(message.raw),
        "ghost": message.ghost,
        "subject": header_of(message.headers, "Subject"),
        "sender": header_of(message.headers, "From"),
        "recipients": header_of(message.headers, "To"),
        "rfc822_message_id": header_of(message.headers, "Message-ID"),
        "in_reply_to": header_of(message.headers, "In-Reply-To"),
    }


def _draft_state(mailbox: Mailbox, draft: Draft) -> Json:
    message = mailbox.message(draft.message_id)
    return {
        "draft_id": draft.draft_id,
        "message_id": draft.message_id,
        "thread_id": message.thread_id,
        "ghost": message.ghost,
        "raw": message.raw.decode("utf-8", "replace"),
    }


def _thread_state(mailbox: Mailbox) -> dict[str, list[str]]:
    threads: dict[str, list[str]] = {}
    for message in sorted(mailbox.messages.values(), key=lambda each: (each.internal_date, each.sequence)):
        threads.setdefault(message.thread_id, []).append(message.message_id)
    return threads

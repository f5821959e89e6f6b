"""The Gmail API's operations on messages and drafts, each as a function of a mailbox and a call."""

import re
from dataclasses import replace

from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json
from sandbox.google.api.resources import attachment_resource, decode, message_resource
from sandbox.google.api.routes import MailboxHandler, page_of
from sandbox.google.mailbox.drafts import create_draft, delete_draft, get_draft, send_draft, send_message, update_draft
from sandbox.google.mailbox.mailbox import Draft, Mailbox, MailMessage
from sandbox.google.mailbox.person import delete_for_good
from sandbox.google.mailbox.rfc822 import own_id
from sandbox.google.mailbox.search import search, search_for

MOST_IDS = 1_000


def list_messages(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.list`: ids only, newest first."""
    mailbox.remember_page(call.first("pageToken"))
    mailbox.searches += 1
    found = search_for(mailbox, call)
    items = [{"id": message.message_id, "threadId": message.thread_id} for message in found]
    body = page_of(items, call, "messages", mailbox.knobs.largest_page, mailbox.searches)
    return Answer(body=body, summary={"q": call.first("q"), "found": len(items)})


def get_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.get`."""
    message = mailbox.look_up(call.parameters["id"])
    shape = call.first("format", "full")
    names = call.query.get("metadataHeaders", ())
    body = message_resource(message, shape, names, inline_below=mailbox.knobs.inline_files_below)
    return Answer(body=body, summary={"message_id": message.message_id, "format": shape})


def get_attachment(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.attachments.get`."""
    message = mailbox.look_up(call.parameters["messageId"])
    body = attachment_resource(message, call.parameters["id"])
    return Answer(body=body, summary={"message_id": message.message_id, "size": body["size"]})


def modify_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.modify`."""
    message, wish = mailbox.look_up(call.parameters["id"]), call.json()
    add, remove = wish.get("addLabelIds", []), wish.get("removeLabelIds", [])
    mailbox.labels.check_change(add, remove)
    _refuse_draft(mailbox, message)
    mailbox.relabel(message, add, remove)
    return _message_answer(message, added=add, removed=remove)


def modify_messages(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.batchModify`: no body, no result per id; unknown ids and drafts are passed over."""
    wish = call.json()
    ids, add, remove = wish.get("ids", []), wish.get("addLabelIds", []), wish.get("removeLabelIds", [])
    if not 0 < len(ids) <= MOST_IDS:
        raise ApiFailure(400, "invalidArgument", f"Between 1 and {MOST_IDS} ids must be given")
    mailbox.labels.check_change(add, remove)
    touched = [mailbox.messages[each] for each in ids if each in mailbox.messages]
    touched = [message for message in touched if not mailbox.is_draft(message)]
    for message in touched:
        mailbox.relabel(message, add, remove)
    done = [message.message_id for message in touched]
    return Answer(204, summary={"message_ids": done, "added": add, "removed": remove})


def trash_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.trash`: TRASH on; INBOX off, unless the mailbox keeps it (reports differ)."""
    message = mailbox.look_up(call.parameters["id"])
    mailbox.relabel(message, ("TRASH",), () if mailbox.knobs.trash_keeps_inbox else ("INBOX",))
    return _message_answer(message)


def untrash_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.untrash`: TRASH off; back to the inbox only where the mailbox does that (reports differ)."""
    message = mailbox.look_up(call.parameters["id"])
    returns = mailbox.knobs.untrash_gives_inbox and "TRASH" in message.label_ids
    mailbox.relabel(message, ("INBOX",) if returns else (), ("TRASH",))
    return _message_answer(message)


def delete_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.delete`: gone for good, with the draft that has it."""
    message = mailbox.look_up(call.parameters["id"])
    delete_for_good(mailbox, [message])
    return Answer(204, summary={"message_id": message.message_id, "thread_id": message.thread_id})


def post_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.send`."""
    raw, thread_id = _content(mailbox, call.json())
    return _sent_answer(send_message(mailbox, raw, thread_id))


def list_drafts(mailbox: Mailbox, call: Call) -> Answer:
    """`users.drafts.list`: ids only, newest first; those in the trash and in spam for who asks for them."""
    drafts = [(draft, mailbox.message(draft.message_id)) for draft in mailbox.drafts.values()]
    if call.first("includeSpamTrash") != "true":
        drafts = [(draft, message) for draft, message in drafts if message.label_ids.isdisjoint({"TRASH", "SPAM"})]
    if call.first("q"):
        found = {message.message_id for message in search(mailbox, call.first("q"))}
        drafts = [(draft, message) for draft, message in drafts if message.message_id in found]
    drafts.sort(key=lambda pair: pair[1].sequence, reverse=True)
    items: list[Json] = [
        {"id": draft.draft_id, "message": {"id": message.message_id, "threadId": message.thread_id}}
        for draft, message in drafts
    ]
    return Answer(body=page_of(items, call, "drafts"), summary={"found": len(items)})


def post_draft(mailbox: Mailbox, call: Call) -> Answer:
    """`users.drafts.create`."""
    raw, thread_id = _content(mailbox, call.json().get("message", {}))
    return _draft_answer(mailbox, create_draft(mailbox, raw, thread_id))


def upload_draft(mailbox: Mailbox, call: Call) -> Answer:
    """`users.drafts.create` by its upload path: JSON and the message as the two parts of one request."""
    wish, raw = _uploaded(call)
    if len(raw) > mailbox.knobs.largest_message:
        raise ApiFailure(413, "uploadTooLarge", "Request Entity Too Large")
    draft = create_draft(mailbox, raw, wish.get("message", {}).get("threadId") or None)
    return _draft_answer(mailbox, draft)


def read_draft(mailbox: Mailbox, call: Call) -> Answer:
    """`users.drafts.get`."""
    draft = get_draft(mailbox, call.parameters["id"])
    message = mailbox.message(draft.message_id)
    body = {"id": draft.draft_id, "message": message_resource(message, call.first("format", "full"))}
    return Answer(body=body, summary=_summary(message, draft_id=draft.draft_id))


def put_draft(mailbox: Mailbox, call: Call) -> Answer:
    """`users.drafts.update`."""
    raw, thread_id = _content(mailbox, call.json().get("message", {}))
    return _draft_answer(mailbox, update_draft(mailbox, call.parameters["id"], raw, thread_id))


def remove_draft(mailbox: Mailbox, call: Call) -> Answer:
    """`users.drafts.delete`."""
    delete_draft(mailbox, call.parameters["id"])
    return Answer(204, summary={"draft_id": call.parameters["id"]})


def post_sent_draft(mailbox: Mailbox, call: Call) -> Answer:
    """`users.drafts.send`."""
    wish = call.json()
    draft_id = wish.get("id")
    if not draft_id:
        raise ApiFailure(400, "invalidArgument", "Draft id required")
    raw = _content(mailbox, wish["message"])[0] if wish.get("message", {}).get("raw") else None
    return _sent_answer(send_draft(mailbox, draft_id, raw), draft_id=draft_id)


def _content(mailbox: Mailbox, message: Json) -> tuple[bytes, str | None]:
    raw = decode(message.get("raw"))
    if len(raw) > min(mailbox.knobs.largest_json, mailbox.knobs.largest_message):
        raise ApiFailure(413, "uploadTooLarge", "Request Entity Too Large")
    return raw, message.get("threadId") or None


def _uploaded(call: Call) -> tuple[Json, bytes]:
    """The two parts of a `multipart/related` upload (uploadType=multipart)."""
    kind = call.headers.get("content-type", "")
    found = re.search(r'boundary="?([^";]+)"?', kind)
    if call.first("uploadType") != "multipart" or not kind.startswith("multipart/related") or not found:
        raise ApiFailure(400, "badContent", "Invalid multipart request")
    pieces = call.body.split(f"--{found[1]}".encode())[1:-1]
    parts = [re.split(rb"\r?\n\r?\n", piece.lstrip(b"\r\n"), maxsplit=1) for piece in pieces]
    if len(parts) != 2 or any(len(part) != 2 for part in parts):  # noqa: PLR2004  # metadata and media; head and body
        raise ApiFailure(400, "badContent", "Missing end boundary in multipart body.")
    wish = replace(call, body=parts[0][1].strip()).json()
    return wish, re.sub(rb"\r?\n\Z", b"", parts[1][1])


def _refuse_draft(mailbox: Mailbox, message: MailMessage) -> None:
    if mailbox.is_draft(message):
        raise ApiFailure(400, "failedPrecondition", "Draft messages cannot carry other labels.")


def _summary(message: MailMessage, **more: object) -> Json:
    facts = {"message_id": message.message_id, "thread_id": message.thread_id, "ghost": message.ghost}
    return {**facts, "label_ids": sorted(message.label_ids), **more}


def _message_answer(message: MailMessage, **more: object) -> Answer:
    return Answer(body=message.facts(), summary=_summary(message, **more))


def _sent_answer(message: MailMessage, **more: object) -> Answer:
    return _message_answer(message, rfc822_message_id=own_id(message.headers), **more)


def _draft_answer(mailbox: Mailbox, draft: Draft) -> Answer:
    message = mailbox.message(draft.message_id)
    body = {"id": draft.draft_id, "message": message.facts()}
    return Answer(body=body, summary=_summary(message, draft_id=draft.draft_id))


MESSAGE_ROUTES: tuple[tuple[str, str, str, MailboxHandler], ...] = (
    ("GET", "/messages", "messages.list", list_messages),
    ("POST", "/messages/send", "messages.send", post_message),
    ("POST", "/messages/batchModify", "messages.batchModify", modify_messages),
    ("GET", "/messages/{id}", "messages.get", get_message),
    ("DELETE", "/messages/{id}", "messages.delete", delete_message),
    ("POST", "/messages/{id}/modify", "messages.modify", modify_message),
    ("POST", "/messages/{id}/trash", "messages.trash", trash_message),
    ("POST", "/messages/{id}/untrash", "messages.untrash", untrash_message),
    ("GET", "/messages/{messageId}/attachments/{id}", "attachments.get", get_attachment),
    ("GET", "/drafts", "drafts.list", list_drafts),
    ("POST", "/drafts", "drafts.create", post_draft),
    ("POST", "/drafts/send", "drafts.send", post_sent_draft),
    ("GET", "/drafts/{id}", "drafts.get", read_draft),
    ("PUT", "/drafts/{id}", "drafts.update", put_draft),
    ("DELETE", "/drafts/{id}", "drafts.delete", remove_draft),
)

UPLOAD_ROUTES: tuple[tuple[str, str, str, MailboxHandler], ...] = (("POST", "/drafts", "drafts.create", upload_draft),)
"""Under `/upload` before the usual path."""

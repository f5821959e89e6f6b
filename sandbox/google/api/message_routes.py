"""The Gmail API's operations on messages and drafts, each as a function of a mailbox and a call."""

from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json
from sandbox.google.api.resources import attachment_resource, decode, message_resource
from sandbox.google.api.routes import MailboxHandler, page_of
from sandbox.google.mailbox.drafts import create_draft, delete_draft, get_draft, send_draft, send_message, update_draft
from sandbox.google.mailbox.mailbox import Draft, Mailbox, MailMessage
from sandbox.google.mailbox.rfc822 import own_id
from sandbox.google.mailbox.search import search, search_for

MOST_IDS = 1_000


def list_messages(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.list`: ids only, newest first."""
    if call.first("pageToken") and mailbox.knobs.forgotten_pages > 0:
        mailbox.knobs.forgotten_pages -= 1
        raise ApiFailure(400, "invalidArgument", "Invalid pageToken")
    found = search_for(mailbox, call)
    items = [{"id": message.message_id, "threadId": message.thread_id} for message in found]
    body = page_of(items, call, "messages", mailbox.knobs.largest_page)
    return Answer(body=body, summary={"q": call.first("q"), "found": len(items)})


def get_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.get`."""
    message = mailbox.look_up(call.parameters["id"])
    shape = call.first("format", "full")
    body = message_resource(message, shape, call.query.get("metadataHeaders", ()))
    return Answer(body=body, summary={"message_id": message.message_id, "format": shape})


def get_attachment(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.attachments.get`."""
    message = mailbox.look_up(call.parameters["messageId"])
    return Answer(body=attachment_resource(message, call.parameters["id"]))


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
    """`users.messages.trash`: TRASH on, INBOX off."""
    message = mailbox.look_up(call.parameters["id"])
    _refuse_draft(mailbox, message)
    mailbox.relabel(message, ("TRASH",), ("INBOX",))
    return _message_answer(message)


def untrash_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.untrash`: TRASH off; the message does not return to the inbox."""
    message = mailbox.look_up(call.parameters["id"])
    mailbox.relabel(message, (), ("TRASH",))
    return _message_answer(message)


def post_message(mailbox: Mailbox, call: Call) -> Answer:
    """`users.messages.send`."""
    raw, thread_id = _content(mailbox, call.json())
    return _sent_answer(send_message(mailbox, raw, thread_id))


def list_drafts(mailbox: Mailbox, call: Call) -> Answer:
    """`users.drafts.list`: ids only, newest first."""
    drafts = [(draft, mailbox.message(draft.message_id)) for draft in mailbox.drafts.values()]
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
    if len(raw) > mailbox.knobs.largest_message:
        raise ApiFailure(413, "uploadTooLarge", "Request Entity Too Large")
    return raw, message.get("threadId") or None


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

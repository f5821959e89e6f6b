"""The Gmail API's operations on mailbox, history, labels and threads, each as a function of a mailbox and a call."""

from collections.abc import Callable

from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json
from sandbox.google.api.resources import thread_resource
from sandbox.google.mailbox.history import TYPE_NAMES, page_token, read_page_token
from sandbox.google.mailbox.labels import Label
from sandbox.google.mailbox.mailbox import Mailbox
from sandbox.google.mailbox.search import search_for

MailboxHandler = Callable[[Mailbox, Call], Answer]
LARGEST_PAGE = 500


def page_of(items: list[Json], call: Call, key: str, most: int = LARGEST_PAGE, listing: int = 0) -> Json:
    """A page of a list by offset, in Gmail's shape: without the key when the list is empty.

    The tokens of listings with different numbers differ.
    """
    size = max(1, min(call.number("maxResults", 100), LARGEST_PAGE, most))
    offset = read_page_token(call.first("pageToken")) if call.first("pageToken") else 0
    page: Json = {"resultSizeEstimate": len(items)}
    if items[offset : offset + size]:
        page[key] = items[offset : offset + size]
    if len(items) > offset + size:
        page["nextPageToken"] = page_token(offset + size, listing)
    return page


def get_profile(mailbox: Mailbox, _call: Call) -> Answer:
    """`users.getProfile`."""
    threads = {message.thread_id for message in mailbox.messages.values()}
    body = {
        "emailAddress": mailbox.email,
        "messagesTotal": len(mailbox.messages),
        "threadsTotal": len(threads),
        "historyId": str(mailbox.history.current),
    }
    return Answer(body=body, summary={"history_id": body["historyId"]})


def list_history(mailbox: Mailbox, call: Call) -> Answer:
    """`users.history.list`."""
    start = call.number("startHistoryId", -1)
    if start < 0:
        raise ApiFailure(400, "invalidArgument", "Missing or invalid startHistoryId")
    unknown = set(call.query.get("historyTypes", ())) - set(TYPE_NAMES)
    if unknown:
        raise ApiFailure(400, "invalidArgument", f"Invalid value at 'history_types': {sorted(unknown)}")
    kinds = {TYPE_NAMES[name] for name in call.query.get("historyTypes", ())}
    size = max(1, min(call.number("maxResults", 100), LARGEST_PAGE, mailbox.knobs.largest_page))
    page = mailbox.history.page(start, kinds, call.first("labelId"), size, call.first("pageToken"))
    summary = {"start": start, "records": len(page.get("history", [])), "more": "nextPageToken" in page}
    return Answer(body=page, summary=summary)


def list_labels(mailbox: Mailbox, _call: Call) -> Answer:
    """`users.labels.list`."""
    return Answer(body={"labels": [label.as_json() for label in mailbox.labels.all()]})


def get_label(mailbox: Mailbox, call: Call) -> Answer:
    """`users.labels.get`, the only one with counts."""
    label = mailbox.labels.get(call.parameters["id"])
    carriers = [message for message in mailbox.messages.values() if label.label_id in message.label_ids]
    unread = [message for message in carriers if "UNREAD" in message.label_ids]
    counts = {
        "messagesTotal": len(carriers),
        "messagesUnread": len(unread),
        "threadsTotal": len({message.thread_id for message in carriers}),
        "threadsUnread": len({message.thread_id for message in unread}),
    }
    return Answer(body={**label.as_json(), **counts})


def create_label(mailbox: Mailbox, call: Call) -> Answer:
    """`users.labels.create`."""
    return _label_answer(mailbox.labels.create(call.json()))


def update_label(mailbox: Mailbox, call: Call) -> Answer:
    """`users.labels.update` and `patch`."""
    return _label_answer(mailbox.labels.update(call.parameters["id"], call.json()))


def delete_label(mailbox: Mailbox, call: Call) -> Answer:
    """`users.labels.delete`: the label also leaves its messages."""
    label_id = call.parameters["id"]
    mailbox.labels.delete(label_id)
    for message in list(mailbox.messages.values()):
        mailbox.relabel(message, (), (label_id,))
    return Answer(204, summary={"label_id": label_id})


def _label_answer(label: Label) -> Answer:
    return Answer(body=label.as_json(), summary={"label_id": label.label_id, "name": label.name})


def list_threads(mailbox: Mailbox, call: Call) -> Answer:
    """`users.threads.list`."""
    found = search_for(mailbox, call)
    latest = {message.thread_id: message for message in reversed(found)}
    threads = [
        {"id": thread_id, "historyId": str(message.history_id)} for thread_id, message in reversed(latest.items())
    ]
    return Answer(body=page_of(threads, call, "threads"), summary={"found": len(threads)})


def get_thread(mailbox: Mailbox, call: Call) -> Answer:
    """`users.threads.get`, which has every message that `messages.get` has."""
    thread_id = call.parameters["id"]
    names = call.query.get("metadataHeaders", ())
    body = thread_resource(mailbox, thread_id, call.first("format", "full"), names)
    return Answer(body=body, summary={"thread_id": thread_id, "messages": len(body["messages"])})


def modify_thread(mailbox: Mailbox, call: Call) -> Answer:
    """`users.threads.modify`: every message the thread has now, one history record each; drafts carry no labels."""
    thread_id, wish = call.parameters["id"], call.json()
    add, remove = wish.get("addLabelIds", []), wish.get("removeLabelIds", [])
    messages = mailbox.thread(thread_id)
    if not messages:
        raise ApiFailure(404, "notFound", "Requested entity was not found.")
    mailbox.labels.check_change(add, remove)
    touched = [message for message in messages if not mailbox.is_draft(message)]
    for message in touched:
        mailbox.relabel(message, add, remove)
    body = {"id": thread_id, "messages": [message.facts() for message in messages]}
    ids = [message.message_id for message in touched]
    return Answer(body=body, summary={"thread_id": thread_id, "message_ids": ids, "added": add, "removed": remove})


def list_aliases(mailbox: Mailbox, _call: Call) -> Answer:
    """`users.settings.sendAs.list`: the account's own address, and its aliases, each with its verification."""
    primary: Json = {"sendAsEmail": mailbox.email, "isPrimary": True, "displayName": ""}
    others: list[Json] = [
        {"sendAsEmail": address, "displayName": "", "verificationStatus": status}
        for address, status in mailbox.aliases.items()
    ]
    listed = [one | mailbox.send_as.get(one["sendAsEmail"].lower(), {}) for one in (primary, *others)]
    if not any(one.get("isDefault") for one in listed):
        listed[0]["isDefault"] = True
    return Answer(body={"sendAs": listed})


ROUTES: tuple[tuple[str, str, str, MailboxHandler], ...] = (
    ("GET", "/profile", "getProfile", get_profile),
    ("GET", "/history", "history.list", list_history),
    ("GET", "/labels", "labels.list", list_labels),
    ("POST", "/labels", "labels.create", create_label),
    ("GET", "/labels/{id}", "labels.get", get_label),
    ("PUT", "/labels/{id}", "labels.update", update_label),
    ("PATCH", "/labels/{id}", "labels.update", update_label),
    ("DELETE", "/labels/{id}", "labels.delete", delete_label),
    ("GET", "/threads", "threads.list", list_threads),
    ("GET", "/threads/{id}", "threads.get", get_thread),
    ("POST", "/threads/{id}/modify", "threads.modify", modify_thread),
    ("GET", "/settings/sendAs", "sendAs.list", list_aliases),
)

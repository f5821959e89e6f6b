"""One Gmail account as a `Mailbox`: Google's own client over a transport that sends once."""

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from googleapiclient.http import HttpRequest

from domain.mail.mailbox import (
    AttachmentPart,
    Draft,
    HistoryPage,
    MailboxLabel,
    MessageFacts,
    MessagePage,
    Profile,
    RawMessage,
    SenderAddress,
    ThreadFacts,
    Watch,
)
from providers.answers import VendorCall
from providers.google import gmail_answers as answers
from providers.google.failures import ERRORS, GMAIL, failure_of
from providers.google.gmail_methods import API_ROOT, gmail_methods
from providers.google.gmail_quota import units
from providers.google.transport import REPEATABLE, NoReplayHttp
from providers.ports import Meter
from providers.vendor_client import VendorClient

ME = "me"
PAGE_SIZE = 500
"""The largest page Gmail serves for history, messages and drafts."""

LARGEST_IN_JSON = 3 * 1024 * 1024
"""Bytes of a message that travels as text inside JSON. A request of some 5 MB and more is refused with 413 there, and
the upload path takes 35 MiB (docs: gmail.md#sending)."""

HISTORY_TYPES = ("messageAdded", "messageDeleted", "labelAdded", "labelRemoved")

Result = TypeVar("Result")


def utc_now() -> datetime:
    """The wall clock, aware."""
    return datetime.now(UTC)


class GmailMailbox(VendorClient):
    """Implements `providers.ports.Mailbox`; one object per job and thread.

    It takes an access token as it is and never refreshes it: a 401 is `Unauthorised` with the code
    `gmail.authError`, upon which the caller refreshes once and builds another mailbox. A missing scope is
    `Unauthorised` with `gmail.insufficientPermissions`; no refresh helps there. Nothing is repeated or
    batched. Calls go to `endpoint` in the place of Google's own host (docs: google-client.md#endpoints).
    """

    def __init__(
        self,
        *,
        account: str,
        access_token: str,
        timeout_s: float,
        meter: Meter,
        endpoint: str | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`meter` hears method and quota units before each call and may raise `Throttled` to forbid it."""
        self._account = account
        self._clock = clock
        self._meter = meter
        self._http = NoReplayHttp(timeout_s=timeout_s, access_token=access_token)
        self._root = f"{endpoint.rstrip('/')}/" if endpoint else API_ROOT
        self._api = gmail_methods()

    def profile(self) -> Profile:
        """Whose mailbox it is and its current history id."""
        return self._call(self._api.users.getProfile(userId=ME), answers.profile)

    def history(self, start: int, page: str | None = None) -> HistoryPage:
        """One page of changes since `start`, oldest first; `Gone` when the id is too old."""
        request = self._api.history.list(
            userId=ME,
            startHistoryId=str(start),
            # The client repeats the parameter for a list only; another sequence becomes one text.
            historyTypes=list(HISTORY_TYPES),
            maxResults=PAGE_SIZE,
            pageToken=page,
        )
        return self._call(request, answers.history_page)

    def search(self, query: str, *, label_ids: Sequence[str] = (), page: str | None = None) -> MessagePage:
        """One page of messages that match Gmail's search words and carry all the labels."""
        request = self._api.messages.list(
            userId=ME, q=query or None, labelIds=list(label_ids) or None, maxResults=PAGE_SIZE, pageToken=page
        )
        return self._call(request, answers.message_page)

    def message(self, message_id: str) -> RawMessage:
        """The whole message."""
        request = self._api.messages.get(userId=ME, id=message_id, format="raw")
        return self._call(request, answers.raw_message)

    def message_facts(self, message_id: str) -> MessageFacts:
        """Labels and headers of a message."""
        request = self._api.messages.get(userId=ME, id=message_id, format="metadata")
        return self._call(request, answers.message_facts)

    def attachments(self, message_id: str) -> tuple[AttachmentPart, ...]:
        """The files of a message; small ones come with their content."""
        request = self._api.messages.get(userId=ME, id=message_id, format="full")
        return self._call(request, answers.attachments)

    def attachment(self, message_id: str, part: AttachmentPart) -> bytes:
        """The content of a file: what the listing had, or what Gmail gives for its id."""
        if part.attachment_id is None:
            return part.data or b""
        files = self._api.attachments
        return self._call(files.get(userId=ME, messageId=message_id, id=part.attachment_id), answers.attachment)

    def send_as(self) -> tuple[SenderAddress, ...]:
        """The addresses that the account may write from."""
        return self._call(self._api.send_as.list(userId=ME), answers.send_as)

    def thread(self, thread_id: str) -> ThreadFacts:
        """A thread with labels and headers of its messages."""
        request = self._api.threads.get(userId=ME, id=thread_id, format="metadata")
        return self._call(request, answers.thread_facts)

    def labels(self) -> tuple[MailboxLabel, ...]:
        """All labels, system and user."""
        return self._call(self._api.labels.list(userId=ME), answers.labels)

    def create_label(self, name: str) -> MailboxLabel:
        """Make a visible label; `Conflict` when the name, or one Gmail takes for the same, exists."""
        body = {"name": name, "labelListVisibility": "labelShow", "messageListVisibility": "show"}
        return self._call(self._api.labels.create(userId=ME, body=body), answers.label)

    def modify_message(self, message_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> frozenset[str]:
        """Add and remove at most 100 labels each; returns the labels the message carries afterwards."""
        body = {"addLabelIds": list(add), "removeLabelIds": list(remove)}
        return self._call(self._api.messages.modify(userId=ME, id=message_id, body=body), answers.label_ids)

    def modify_thread(self, thread_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add and remove at most 100 labels each on every message that the thread has now."""
        body = {"addLabelIds": list(add), "removeLabelIds": list(remove)}
        self._call(self._api.threads.modify(userId=ME, id=thread_id, body=body), _nothing)

    def trash_message(self, message_id: str) -> frozenset[str]:
        """Move a message to the trash; returns the labels it carries afterwards (docs: gmail.md#trash)."""
        return self._call(self._api.messages.trash(userId=ME, id=message_id), answers.label_ids)

    def untrash_message(self, message_id: str) -> frozenset[str]:
        """Take a message out of the trash; returns the labels it carries afterwards (docs: gmail.md#trash)."""
        return self._call(self._api.messages.untrash(userId=ME, id=message_id), answers.label_ids)

    def delete_message(self, message_id: str) -> None:
        """Delete a message for good; needs the scope `https://mail.google.com/` (docs: gmail.md#trash)."""
        self._call(self._api.messages.delete(userId=ME, id=message_id), _nothing)

    def create_draft(self, raw: bytes, *, thread_id: str | None) -> Draft:
        """Make a draft from RFC 822 bytes, which must hold the thread's headers too; a large one is uploaded."""
        drafts = self._api.drafts
        if len(raw) <= LARGEST_IN_JSON:
            return self._call(drafts.create(userId=ME, body=_draft_body(raw, thread_id)), answers.draft)
        thread = {} if thread_id is None else {"threadId": thread_id}
        return self._call(_upload(drafts.create(userId=ME, body={"message": thread}), raw), answers.draft)

    def update_draft(self, draft_id: str, raw: bytes, *, thread_id: str | None) -> Draft:
        """Replace a draft's message, which gets a new message id."""
        body = _draft_body(raw, thread_id)
        return self._call(self._api.drafts.update(userId=ME, id=draft_id, body=body), answers.draft)

    def draft(self, draft_id: str) -> Draft:
        """A draft by its id; `Gone` when sent or discarded."""
        return self._call(self._api.drafts.get(userId=ME, id=draft_id, format="minimal"), answers.draft)

    def drafts(self, page: str | None = None) -> tuple[tuple[Draft, ...], str | None]:
        """One page of drafts, also of those in the trash and in spam, and the next page's token."""
        request = self._api.drafts.list(userId=ME, maxResults=PAGE_SIZE, pageToken=page, includeSpamTrash=True)
        return self._call(request, answers.draft_page)

    def delete_draft(self, draft_id: str) -> None:
        """Discard a draft for good."""
        self._call(self._api.drafts.delete(userId=ME, id=draft_id), _nothing)

    def send_draft(self, draft_id: str) -> MessageFacts:
        """Send a draft in one call; `Gone` the second time.

        The facts have no headers: Gmail gives the message a new Message-ID, to be read with `message_facts`.
        `history_id` is 0 where Gmail's answer has none.
        """
        request = self._api.drafts.send(userId=ME, body={"id": draft_id})
        return self._call(request, lambda answer: answers.sent_message(answer, self._clock()))

    def watch(self, topic: str) -> Watch:
        """Start or renew push for every label; `Conflict` (`gmail.otherPushClient`): stop, then watch again."""
        return self._call(self._api.users.watch(userId=ME, body={"topicName": topic}), answers.watch)

    def stop_watch(self) -> None:
        """Stop push notifications."""
        self._call(self._api.users.stop(userId=ME), _nothing)

    def _call(self, request: HttpRequest, read: Callable[[Any], Result]) -> Result:
        """Send a prepared request once and read its answer; raises nothing but failures."""
        self._meter(request.methodId, units(request.methodId))
        writes = request.method not in REPEATABLE
        request.uri = self._root + request.uri.removeprefix(API_ROOT)
        try:
            return read(request.execute(http=self._http, num_retries=0))
        except ERRORS as error:
            failure = failure_of(error, VendorCall(GMAIL, self._clock(), request.methodId, self._account, writes))
        # Outside the handler, so that no traceback shows the vendor's error with its address and text.
        raise failure


def _nothing(_answer: object) -> None:
    return None


def _upload(request: HttpRequest, raw: bytes) -> HttpRequest:
    """The same call by its upload path: its JSON and the message as the two parts of one request."""
    place = urlsplit(request.uri)
    query = f"{place.query}&uploadType=multipart".lstrip("&")
    boundary = f"upload-{secrets.token_hex(16)}"
    request.uri = place._replace(path=f"/upload{place.path}", query=query).geturl()
    request.body = b"".join(
        (
            f"--{boundary}\r\nContent-Type: application/json\r\n\r\n{request.body}\r\n".encode(),
            f"--{boundary}\r\nContent-Type: message/rfc822\r\n\r\n".encode(),
            raw,
            f"\r\n--{boundary}--\r\n".encode(),
        )
    )
    request.headers |= {
        "content-type": f'multipart/related; boundary="{boundary}"',
        "content-length": str(len(request.body)),
    }
    return request


def _draft_body(raw: bytes, thread_id: str | None) -> dict[str, Any]:
    message = {"raw": answers.encoded(raw)}
    return {"message": message if thread_id is None else {**message, "threadId": thread_id}}

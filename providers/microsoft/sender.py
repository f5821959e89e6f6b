"""Mail by Microsoft Graph: a draft that can be found again, and its sending (docs: graph.md).

`sendMail` answers without an id, so nobody could say afterwards whether a mail went out. A draft carries our property
or our Message-ID, and what becomes of it is looked for by its id, by its Message-ID, and by the property.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from pydantic import SecretStr

from domain.jobs.effects import CannotTell, Finding, Found, NotFound
from domain.jobs.failures import CallState, Failure, Gone, InFlight
from providers.microsoft.failures import NO_SUCH_ITEM, PROVIDER
from providers.microsoft.graph_client import GraphClient, document_of, items_of, json_bytes, path_of
from providers.microsoft.graph_drafts import (
    UPLOAD_FROM,
    ListedFile,
    compare_files,
    draft_request,
    file_document,
    mark,
    message_id_filter,
    message_id_of,
    needs_mime,
    property_filter,
)
from providers.microsoft.tokens import MicrosoftCredential, MicrosoftTokens
from providers.microsoft.uploads import Uploads
from providers.ports import Meter
from providers.ports.email import DraftRef, OutgoingEmail, SentEmail
from providers.ports.time_limit import calls_within
from providers.rest_client import RestClient, unreadable, utc_now

ON_ITS_WAY = timedelta(minutes=5)
"""How long after the call a mail that is neither a draft nor in Sent Items may still come there
(https://learn.microsoft.com/en-us/graph/outlook-things-to-know-about-send-mail)."""
LOOK_AGAIN = timedelta(seconds=30)
"""How soon such a mail is looked for again."""
COMPLETE_WITHIN_S = 60.0
"""Seconds in which a draft that broke off is completed; what is left then is resumed by the next attempt."""
MOST_FILES = 100
"""Attachments that are listed: more than a mail may have."""

FACTS = "id,isDraft,internetMessageId"
SENT_ITEMS = "/mailFolders/SentItems/messages"


class GraphSender(RestClient):
    """Implements `providers.ports.email.DraftingSender`."""

    def __init__(  # noqa: PLR0913 - each is a setting or a fact of the org, by name
        self,
        secret: SecretStr,
        *,
        mailbox: str,
        graph_url: str,
        login_url: str,
        timeout_s: float,
        meter: Meter,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`mailbox` is sent from; it also names whose consent is lost, in `Unauthorised`.

        Raises `Invalid` for a secret that is no `MicrosoftCredential`.
        """
        credential = MicrosoftCredential.from_json(secret.get_secret_value())
        super().__init__(PROVIDER, timeout_s=timeout_s, meter=meter)
        self._clock = clock
        tokens = MicrosoftTokens(credential, account=mailbox, login_url=login_url, client=self, clock=clock)
        self._graph = GraphClient(self, tokens, mailbox=mailbox, graph_url=graph_url, clock=clock)
        self._uploads = Uploads(self._graph, clock)

    def create_draft(self, email: OutgoingEmail) -> DraftRef:
        """Make the draft and add its files. What fails after the draft is made leaves doubt, so that it is found."""
        request = draft_request(email)
        answer = self._graph.call("drafts.create", "POST", "/messages", request.body, request.content_type)
        draft = _draft_of(document_of(answer), email)
        try:
            if request.is_mime:
                self._graph.call("drafts.mark", "PATCH", path_of(draft.draft_id), mark(email.reference))
            if not self._complete(draft, email):
                raise unreadable(PROVIDER, answer.status)
        except Failure as failure:
            failure.call_state = CallState.IN_DOUBT
            raise
        return draft

    def find_draft(self, email: OutgoingEmail) -> DraftRef | None:
        """By our property, then by the Message-ID of one from MIME; None where Graph shows neither.

        A draft that Graph did not show stays in the folder of drafts and is never sent.
        """
        with calls_within(COMPLETE_WITHIN_S):
            found = self._search("drafts.find", "/messages", property_filter(email.reference))
            is_marked = found is not None
            if found is None and needs_mime(email):
                found = self._search("drafts.find", "/messages", message_id_filter(message_id_of(email)))
            if found is None:
                return None
            draft = _draft_of(found, email)
            if found.get("isDraft") is False:
                return draft
            if not is_marked:
                self._graph.call("drafts.mark", "PATCH", path_of(draft.draft_id), mark(email.reference))
            return draft if self._complete(draft, email) else None

    def send_draft(self, draft: DraftRef) -> SentEmail:
        """Send it: 202 is the acceptance, and has no body."""
        self._graph.call("drafts.send", "POST", f"{path_of(draft.draft_id)}/send")
        return SentEmail(draft.draft_id, draft.message_id or None)

    def find_sent(self, draft: DraftRef, *, since: datetime, now: datetime) -> Finding:
        """By the draft's id, and since that may change at the send, in Sent Items by Message-ID and by our property."""
        try:
            known = self._graph.get("messages.get", path_of(draft.draft_id), select=FACTS)
        except Gone as gone:
            if gone.code != NO_SUCH_ITEM:
                raise
        else:
            return NotFound() if known.get("isDraft") is True else Found(_sent(known, draft).as_json())
        for wanted in _filters(draft):
            found = self._search("messages.find", SENT_ITEMS, wanted)
            if found is not None:
                return Found(_sent(found, draft).as_json())
        left = since + ON_ITS_WAY - now
        if left > timedelta(0):
            raise InFlight("the mail is neither a draft nor in Sent Items yet", wait=min(left, LOOK_AGAIN))
        return CannotTell("the mail is neither a draft nor in Sent Items")

    def _search(self, operation: str, folder: str, wanted: str) -> dict[str, Any] | None:
        """The first message that matches, a draft before others."""
        items = items_of(self._graph.get(operation, folder, filter=wanted, select=FACTS, top="10"))
        return min(items, key=lambda one: one.get("isDraft") is not True, default=None)

    def _complete(self, draft: DraftRef, email: OutgoingEmail) -> bool:
        """Add the files that the draft lacks, and compare them once more; False where the draft had to be dropped."""
        if not email.attachments:
            return True
        difference = compare_files(email.attachments, self._listed(draft))
        for index in difference.missing:
            self._attach(draft, index, email)
        if difference.missing:
            difference = compare_files(email.attachments, self._listed(draft))
        if difference.surplus:
            # An addition whose answer was lost came after all: the mail must not have the file twice.
            self._graph.call("drafts.delete", "DELETE", path_of(draft.draft_id))
            return False
        if difference.missing:
            raise unreadable(PROVIDER, 200)
        return True

    def _attach(self, draft: DraftRef, index: int, email: OutgoingEmail) -> None:
        file = email.attachments[index]
        if file.size >= UPLOAD_FROM:
            self._uploads.upload(draft.draft_id, index, file)
        else:
            body = json_bytes(file_document(file))
            self._graph.call("drafts.attach", "POST", f"{path_of(draft.draft_id)}/attachments", body)

    def _listed(self, draft: DraftRef) -> list[ListedFile]:
        found = self._graph.get(
            "drafts.files", f"{path_of(draft.draft_id)}/attachments", select="id,name,size", top=str(MOST_FILES)
        )
        return [
            ListedFile(one["name"], one["size"])
            for one in items_of(found)
            if isinstance(one.get("name"), str) and isinstance(one.get("size"), int)
        ]


def _filters(draft: DraftRef) -> list[str]:
    by_message_id = [message_id_filter(draft.message_id)] if draft.message_id else []
    return [*by_message_id, property_filter(draft.reference)]


def _draft_of(document: dict[str, Any], email: OutgoingEmail) -> DraftRef:
    draft_id, message_id = document.get("id"), document.get("internetMessageId")
    if not isinstance(draft_id, str) or not draft_id:
        raise unreadable(PROVIDER, 200)
    return DraftRef(draft_id, message_id if isinstance(message_id, str) else "", email.reference)


def _sent(document: dict[str, Any], draft: DraftRef) -> SentEmail:
    known = document.get("id"), document.get("internetMessageId")
    sent_id, message_id = (one if isinstance(one, str) and one else None for one in known)
    return SentEmail(sent_id or draft.draft_id, message_id or draft.message_id or None)

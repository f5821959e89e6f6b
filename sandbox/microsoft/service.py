"""Microsoft Graph's messages of a mailbox, and the login server beside it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route
from sandbox.microsoft.mailbox import Mailbox, Message
from sandbox.microsoft.requests import matcher, need_small, new_draft, new_file, object_of, properties_of, selected
from sandbox.microsoft.tokens import LoginServer
from sandbox.microsoft.uploads import UploadSessions

USER = "/v1.0/users/{mailbox}"
MESSAGE = USER + "/messages/{message}"


class MicrosoftService:
    """One tenant; a mailbox is there as soon as it is named."""

    def __init__(self) -> None:
        """Begin without messages."""
        self.clock = EmulatorClock()
        self.login = LoginServer(self.clock)
        self.uploads = UploadSessions(self.clock)
        self.mailboxes: dict[str, Mailbox] = {}
        self._lock = RLock()
        self.routes: Sequence[Route] = (
            Route("GET", "/{tenant}/v2.0/.well-known/openid-configuration", "login.endpoints", self.login.endpoints),
            Route("POST", "/{tenant}/oauth2/v2.0/token", "login.token", self.login.issue),
            Route("PUT", "/uploads/{session}", "uploads.put", self._put),
            Route("GET", "/uploads/{session}", "uploads.get", self._show_upload),
            Route("POST", f"{USER}/messages", "messages.create", self.create),
            Route("GET", f"{USER}/messages", "messages.list", self.list),
            Route("GET", f"{USER}/mailFolders/{{folder}}/messages", "messages.list_folder", self.list),
            Route("GET", MESSAGE, "messages.get", self.get),
            Route("PATCH", MESSAGE, "messages.update", self.update),
            Route("DELETE", MESSAGE, "messages.delete", self.delete),
            Route("POST", f"{MESSAGE}/send", "messages.send", self.send),
            Route("GET", f"{MESSAGE}/attachments", "attachments.list", self.list_files),
            Route("POST", f"{MESSAGE}/attachments", "attachments.create", self.attach),
            Route(
                "POST", f"{MESSAGE}/attachments/createUploadSession", "attachments.upload_session", self.begin_upload
            ),
        )

    def mailbox(self, address: str) -> Mailbox:
        """A mailbox, made when it is named first."""
        with self._lock:
            return self.mailboxes.setdefault(address.casefold(), Mailbox(address))

    def identify(self, call: Call) -> str | None:
        """The mailbox; the login server and uploads have none. Refuses a token that is none any more."""
        address = call.parameters.get("mailbox")
        if address is None:
            return None
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer":
            raise ApiFailure(401, "InvalidAuthenticationToken", "Access token is empty.")
        self.login.holder(token)
        if "@" not in address:
            raise ApiFailure(404, "ErrorInvalidUser", "The requested user is invalid.")
        if self.mailbox(address).knobs.forbidden:
            raise ApiFailure(403, "ErrorAccessDenied", "Access is denied. Check credentials and try again.")
        return self.mailbox(address).address

    @contextmanager
    def admit(self, call: Call) -> Iterator[None]:
        """Refuse a fifth call at once on one mailbox."""
        if "mailbox" not in call.parameters:
            yield
            return
        mailbox = self._mailbox(call)
        with self._lock:
            if mailbox.in_flight >= mailbox.knobs.concurrency:
                message = "Application is over its MailboxConcurrency limit."
                raise ApiFailure(429, "ApplicationThrottled", message, {"Retry-After": "3"})
            mailbox.in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                mailbox.in_flight -= 1

    def render(self, call: Call, failure: ApiFailure) -> Answer:
        """Graph's error, or the login server's."""
        if "tenant" in call.parameters:
            body: Json = {"error": failure.reason or "server_error", "error_description": failure.message}
            return Answer(failure.status, body)
        return Answer(failure.status, {"error": {"code": failure.reason or "UnknownError", "message": failure.message}})

    def create(self, call: Call) -> Answer:
        """`POST /messages`: a draft from JSON or MIME."""
        need_small(call)
        given = new_draft(call)
        with self._lock:
            made = self._mailbox(call).create(given.mail, given.properties, is_mime=given.is_mime)
        return Answer(201, made.as_json(), summary={"message_id": made.message_id, "mime": given.is_mime})

    def list(self, call: Call) -> Answer:
        """`GET /messages` of all folders, or of one, by a filter."""
        folder = call.parameters.get("folder", "").casefold()
        matches = matcher(call.first("$filter"))
        with self._lock:
            seen = self._mailbox(call).visible(self.clock.now())
            found = [one.as_json() for one in seen if folder in ("", one.folder) and matches(one)]
        shown = [selected(one, call) for one in found[: call.number("$top", 10)]]
        return Answer(body={"value": shown}, summary={"found": len(found)})

    def get(self, call: Call) -> Answer:
        """`GET /messages/{id}`."""
        with self._lock:
            return Answer(body=selected(self._message(call).as_json(), call))

    def update(self, call: Call) -> Answer:
        """`PATCH /messages/{id}`: extended properties, and nothing else here."""
        request = object_of(call)
        if set(request) != {"singleValueExtendedProperties"}:
            raise ApiFailure(400, "BadRequest", "Only extended properties can be changed here.")
        with self._lock:
            message = self._message(call)
            message.properties.update(properties_of(request))
            return Answer(body=message.as_json())

    def delete(self, call: Call) -> Answer:
        """`DELETE /messages/{id}`."""
        with self._lock:
            self._mailbox(call).messages.remove(self._message(call))
        return Answer(204)

    def send(self, call: Call) -> Answer:
        """`POST /messages/{id}/send`: 202 without a body."""
        with self._lock:
            mailbox = self._mailbox(call)
            draft = mailbox.draft(call.parameters["message"], self.clock.now())
            if not (draft.mail.to or draft.mail.cc or draft.mail.bcc):
                raise ApiFailure(400, "ErrorInvalidRecipients", "At least one recipient is not valid.")
            mailbox.send(draft, self.clock.now())
            summary = {"message_id": draft.message_id, "internet_message_id": draft.mail.message_id, "sent": True}
        return Answer(202, summary=summary)

    def list_files(self, call: Call) -> Answer:
        """`GET /messages/{id}/attachments`."""
        with self._lock:
            files = self._mailbox(call).files_of(self._message(call))
        return Answer(body={"value": [selected(one, call) for one in files[: call.number("$top", 10)]]})

    def attach(self, call: Call) -> Answer:
        """`POST /messages/{id}/attachments`: one file in one request."""
        file = new_file(object_of(call))
        with self._lock:
            mailbox = self._mailbox(call)
            file_id = mailbox.attach(mailbox.draft(call.parameters["message"], self.clock.now()), file)
        return Answer(201, {"id": file_id, "name": file.name, "size": len(file.data)}, summary={"name": file.name})

    def begin_upload(self, call: Call) -> Answer:
        """`POST …/createUploadSession`."""
        item = object_of(call).get("AttachmentItem")
        with self._lock:
            base_url = f"http://{call.headers['host']}"
            message_id = call.parameters["message"]
            return self.uploads.begin(self._mailbox(call), message_id, item if isinstance(item, dict) else {}, base_url)

    def reset(self) -> None:
        """No messages, no applications, real time."""
        with self._lock:
            self.mailboxes.clear()
            self.uploads.reset()
            self.login.reset()
        self.clock.reset()

    def close(self) -> None:
        """Nothing runs in the background."""

    def _put(self, call: Call) -> Answer:
        with self._lock:
            return self.uploads.put(call)

    def _show_upload(self, call: Call) -> Answer:
        with self._lock:
            return self.uploads.show(call)

    def _mailbox(self, call: Call) -> Mailbox:
        return self.mailbox(call.parameters["mailbox"])

    def _message(self, call: Call) -> Message:
        return self._mailbox(call).find(call.parameters["message"], self.clock.now())

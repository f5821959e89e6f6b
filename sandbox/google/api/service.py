"""The Gmail API, Google's token endpoint and Pub/Sub's push as one service: accounts, credentials, quota, errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Handler, Json, Route
from sandbox.emulator.journal import Journal
from sandbox.google.api.consent_screen import ConsentScreen, error_page
from sandbox.google.api.message_routes import MESSAGE_ROUTES, UPLOAD_ROUTES
from sandbox.google.api.oauth import SCOPE, Signer, TokenBook
from sandbox.google.api.pubsub_push import PushService
from sandbox.google.api.quota import Quota, too_fast
from sandbox.google.api.routes import ROUTES, MailboxHandler
from sandbox.google.api.watch import Watches
from sandbox.google.mailbox.mailbox import Mailbox, open_mailbox

PREFIX = "/gmail/v1/users/{userId}"
STATUS_WORDS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
    412: "FAILED_PRECONDITION", 413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL",
    501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
USAGE_REASONS = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "quotaExceeded"})
DEFAULT_REASONS = {
    400: "invalidArgument", 401: "authError", 403: "rateLimitExceeded", 404: "notFound", 409: "aborted",
    429: "rateLimitExceeded", 500: "backendError", 503: "backendError",
}  # fmt: skip
FULL_SCOPE = "https://mail.google.com/"
NEED_FULL_SCOPE = frozenset({"messages.delete"})
"""What the scope gmail.modify does not cover (docs: gmail.md#trash)."""
SCOPE_INSUFFICIENT: Json = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
    "domain": "googleapis.com",
}
INVALID_CREDENTIALS = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential."
)


class GmailService:
    """Several accounts behind one address; the access token selects the account."""

    def __init__(self, journal: Journal, clock: EmulatorClock | None = None) -> None:
        """No account yet. Push attempts go into the same journal as calls."""
        self.clock = clock or EmulatorClock()
        self.mailboxes: dict[str, Mailbox] = {}
        self.tokens = TokenBook(self.clock)
        self.quota = Quota(self.clock)
        self.signer = Signer()
        self.consent = ConsentScreen(self.tokens, self.signer, self.clock)
        self.push = PushService(self.signer, journal)
        self.watches = Watches(self.push)
        self.routes = self._api_routes()

    def open_account(self, email: str, *, seed: int = 0, first_history_id: int | None = None) -> Mailbox:
        """An empty mailbox; it replaces an earlier one with the same address."""
        mailbox = open_mailbox(email, self.clock, seed, first_history_id)
        mailbox.watchers.append(lambda history_id, labels: self.watches.changed(mailbox, history_id, labels))
        self.mailboxes[email] = mailbox
        self.consent.accounts.add(email.lower())
        return mailbox

    def mailbox(self, email: str) -> Mailbox:
        """A mailbox by address, or 404."""
        try:
            return self.mailboxes[email]
        except KeyError:
            raise ApiFailure(404, "notFound", f"no account {email}") from None

    def identify(self, call: Call) -> str | None:
        """The account of the access token; Google's own endpoints need no token."""
        if call.operation == "oauth.token":
            return self.tokens.account_of(call.body) or self.consent.account_of(call.body)
        if call.operation.startswith("oauth."):
            return None
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        email = self.tokens.whose(token.strip()) if scheme.lower() == "bearer" else None
        if email is None or email not in self.mailboxes:
            raise ApiFailure(401, "authError", INVALID_CREDENTIALS)
        if call.parameters.get("userId") not in ("me", email):
            raise ApiFailure(403, "forbidden", f"Delegation denied for {email}")
        return email

    @contextmanager
    def admit(self, call: Call) -> Iterator[None]:
        """Gmail calls count against the account's quota."""
        if call.account is None or call.operation.startswith("oauth."):
            yield
            return
        with self.quota.hold(call.account, call.operation, self.mailbox(call.account).knobs):
            yield

    def render(self, call: Call, failure: ApiFailure) -> Answer:
        """Google's JSON error, or OAuth's for the token endpoint."""
        if call.operation == "oauth.token":
            return Answer(failure.status, {"error": failure.reason, "error_description": failure.message})
        if call.operation in {"oauth.authorize", "oauth.decide"}:
            return error_page(failure)
        return Answer(failure.status, google_error(self._with_time(failure)))

    def reset(self) -> None:
        """No accounts, no tokens, no watches, real time."""
        self.mailboxes.clear()
        self.tokens.reset()
        self.consent.reset()
        self.quota.reset()
        self.watches.reset()
        self.push.reset()
        self.clock.reset()

    def close(self) -> None:
        """End the push thread."""
        self.push.close()

    def _with_time(self, failure: ApiFailure) -> ApiFailure:
        """An ordered 429 says when to come back, as the real service does, unless the order has its own text."""
        if failure.status == 429 and failure.message.startswith("ordered"):  # noqa: PLR2004  # an HTTP status
            return too_fast(429, self.clock.now() + 30)
        return failure

    def _api_routes(self) -> tuple[Route, ...]:
        table: list[tuple[str, str, str, MailboxHandler]] = [
            *ROUTES,
            *MESSAGE_ROUTES,
            ("POST", "/watch", "watch", self.watches.start),
            ("POST", "/stop", "stop", self.watches.stop),
        ]
        own = (
            Route("GET", "/o/oauth2/v2/auth", "oauth.authorize", self.consent.show),
            Route("POST", "/o/oauth2/v2/auth", "oauth.decide", self.consent.decide),
            Route("POST", "/token", "oauth.token", self._give_tokens),
            Route("GET", "/certs", "oauth.certs", self.signer.answer),
        )
        return (
            *own,
            *(Route(method, PREFIX + path, name, self._locked(handler)) for method, path, name, handler in table),
            *(
                Route(method, f"/upload{PREFIX}{path}", name, self._locked(handler))
                for method, path, name, handler in UPLOAD_ROUTES
            ),
        )

    def _give_tokens(self, call: Call) -> Answer:
        kind = parse_qs(call.body.decode(errors="replace")).get("grant_type", [""])[0]
        return self.consent.exchange(call) if kind == "authorization_code" else self.tokens.answer(call)

    def _locked(self, handler: MailboxHandler) -> Handler:
        def handle(call: Call) -> Answer:
            mailbox = self.mailbox(call.account or "")
            scope = self.tokens.scope_of(call.headers.get("authorization", "").partition(" ")[2].strip()).split()
            needed = {FULL_SCOPE} if call.operation in NEED_FULL_SCOPE else {FULL_SCOPE, SCOPE}
            if needed.isdisjoint(scope):
                raise ApiFailure(403, "insufficientPermissions", "Request had insufficient authentication scopes.")
            with mailbox.lock:
                return handler(mailbox, call)

        return handle


def google_error(failure: ApiFailure) -> Json:
    """The body of a Google API error: code, message, errors with reason and domain, status."""
    reason = failure.reason or DEFAULT_REASONS.get(failure.status, "backendError")
    error: Json = {"message": failure.message, "domain": _domain(reason), "reason": reason}
    if failure.status == 401:  # noqa: PLR2004  # an HTTP status
        error |= {"message": "Invalid Credentials", "location": "Authorization", "locationType": "header"}
    status = "FAILED_PRECONDITION" if reason == "failedPrecondition" else STATUS_WORDS.get(failure.status, "UNKNOWN")
    body: Json = {"code": failure.status, "message": failure.message, "errors": [error], "status": status}
    if reason == "insufficientPermissions":
        body["details"] = [{**SCOPE_INSUFFICIENT, "metadata": {"service": "gmail.googleapis.com"}}]
    return {"error": body}


def _domain(reason: str) -> str:
    return "usageLimits" if reason in USAGE_REASONS else "global"

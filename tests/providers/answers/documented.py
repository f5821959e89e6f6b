"""The errors that vendors document, and those that people report of them: what each is to mean."""

from dataclasses import dataclass
from datetime import timedelta

from domain.jobs.failures import (
    Conflict,
    CredentialsLost,
    Failure,
    Gone,
    Permanent,
    Refused,
    Scope,
    Throttled,
    Transient,
    Unauthorised,
)
from providers.resend.failures import CLOCKS_APART
from tests.providers.answers.vendors import SENT, Said, claude, detailed, gmail, graph, mail, push, sms, tokens

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True)
class Meant:
    """What an answer is to mean."""

    about: str
    kind: type[Failure]
    code: str
    wait: timedelta | None = None
    scope: Scope | None = None
    grows: bool = False
    in_doubt: bool = False


def park(code: str, wait: timedelta, scope: Scope = Scope.PROVIDER) -> Meant:
    """About us, until a time that is known."""
    return Meant("us", Throttled, code, wait, scope)


def guess(code: str, wait: timedelta, scope: Scope = Scope.PROVIDER) -> Meant:
    """About us, until a time that is guessed and grows."""
    return Meant("us", Throttled, code, wait, scope, grows=True)


def lost(code: str, kind: type[Failure] = Unauthorised) -> Meant:
    """About us, until other credentials or a new consent are given."""
    return Meant("us", kind, code)


def fail(code: str, kind: type[Failure] = Refused) -> Meant:
    """About this request."""
    return Meant("request", kind, code)


def wait(code: str, wait: timedelta, scope: Scope, *, in_doubt: bool = False) -> Meant:
    """About now, for a time."""
    return Meant("now", Throttled, code, wait, scope, in_doubt=in_doubt)


def again(code: str, *, in_doubt: bool = False) -> Meant:
    """About now, by the job's retry policy."""
    return Meant("now", Transient, code, in_doubt=in_doubt)


PAGE = b"<html>a page of a firewall's or a proxy's</html>"
BAD, AUTH, NO_PERMISSION, RATE = "invalid_request_error", "authentication_error", "permission_error", "rate_limit_error"
LIMIT_TEXT = "You have reached your specified{} API usage limits. You will regain access on {} at 00:00 UTC."
CREDIT_TEXT = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."
DISABLED_TEXT = "This organization has been disabled."

ANTHROPIC = [
    (claude(400, BAD, LIMIT_TEXT.format("", "2026-12-01")), park("spend_limit", 4.5 * DAY)),
    (claude(400, BAD, LIMIT_TEXT.format(" workspace", "2026-11-27")), park("spend_limit", DAY / 2)),
    (claude(400, BAD, LIMIT_TEXT.format("", "2026-11-01")), guess("spend_limit", HOUR)),
    (
        claude(400, BAD, "You have reached your specified API usage limits.", retry_after="5"),
        guess("spend_limit", HOUR),
    ),
    (claude(400, BAD, CREDIT_TEXT), guess("credit_balance_too_low", HOUR)),
    (claude(400, BAD, SENT, "credit_balance_too_low"), guess("credit_balance_too_low", HOUR)),
    (claude(400, BAD, DISABLED_TEXT), guess("organization_disabled", HOUR)),
    (claude(403, NO_PERMISSION, DISABLED_TEXT), guess("organization_disabled", HOUR)),
    (claude(403, NO_PERMISSION, SENT, "organization_on_hold"), guess("organization_on_hold", HOUR)),
    # A refusal can quote a mail, which must not park anybody.
    (claude(400, BAD, f"messages.0.content: {CREDIT_TEXT}"), fail(BAD)),
    (claude(429, RATE, SENT, "enforced_spend_limit_reached", retry_after="5"), park("spend_limit", 4.5 * DAY)),
    (claude(429, RATE, SENT, "contract_spend_limit_reached"), park("spend_limit", 4.5 * DAY)),
    (claude(402, "billing_error", SENT, "linked_organization_spend_limit_reached"), park("spend_limit", 4.5 * DAY)),
    (claude(402, "billing_error"), guess("payment_required", HOUR)),
    (claude(401, AUTH), guess("unauthorised", 15 * MINUTE)),
    (claude(403, NO_PERMISSION), guess("unauthorised", 15 * MINUTE)),
    (claude(404, "not_found_error"), guess("no_such_model", 15 * MINUTE)),
    (claude(429, RATE), wait("rate_limit", MINUTE, Scope.PROVIDER)),
    (claude(429, RATE, SENT, "ramp_limit_exceeded", retry_after="7200"), wait("rate_limit", HOUR, Scope.PROVIDER)),
    # No header parks the fleet for long, whatever it is about.
    (claude(401, AUTH, retry_after="2678400"), park("unauthorised", HOUR)),
    (claude(402, "billing_error", retry_after="2678400"), guess("payment_required", HOUR)),
    (claude(503, "api_error", retry_after="2678400"), wait("api_error", HOUR, Scope.PROVIDER, in_doubt=True)),
    *(
        (claude(status, "x", retry_after="90"), wait("x", 90 * SECOND, Scope.ORG_PROVIDER, in_doubt=True))
        for status in (408, 409, 500, 504)
    ),
    (claude(529, "overloaded_error"), again("overloaded_error", in_doubt=True)),
    (claude(529, "x", retry_after="9"), wait("x", 9 * SECOND, Scope.PROVIDER, in_doubt=True)),
    (claude(408, "timeout_error"), again("timeout_error", in_doubt=True)),
    (claude(409, "conflict_error"), again("conflict_error", in_doubt=True)),
    (claude(413, "request_too_large"), fail("request_too_large")),
    (claude(422, BAD), fail(BAD)),
    *((Said("anthropic", status, PAGE), fail(f"http_{status}", Permanent)) for status in (307, 403, 404)),
    (Said("anthropic of a profile", 404, {"error": {"type": "not_found_error"}}), fail("no_such_model", Permanent)),
    (Said("anthropic of a profile", 403, {"error": {"type": NO_PERMISSION}}), fail("unauthorised", Permanent)),
    (Said("anthropic of a profile", 429, PAGE), wait("rate_limit", MINUTE, Scope.ORG_PROVIDER)),
    (
        Said("anthropic of a profile", 529, PAGE, {"Retry-After": "9"}),
        wait("http_529", 9 * SECOND, Scope.ORG_PROVIDER, in_doubt=True),
    ),
    (Said("anthropic of a profile", 401, {"error": {"type": AUTH}}), guess("unauthorised", 15 * MINUTE)),
]
ONLY_ONE = "Only one user push notification client allowed per developer"
SENDING = "User-rate limit exceeded. (Mail sending)"
LIMIT = "rateLimitExceeded"
GOOGLE = [
    (gmail(400, "failedPrecondition"), again("failedPrecondition")),
    (gmail(400, "invalidArgument"), fail("invalidArgument", Permanent)),
    (gmail(400, f"invalid To <{SENT}>"), fail("http_400", Permanent)),
    (gmail(400, "failedPrecondition", "Message not a draft"), fail("notADraft", Gone)),
    (gmail(400, "invalidArgument", ONLY_ONE), fail("otherPushClient", Conflict)),
    (gmail(401, "authError"), lost("authError")),
    (gmail(403, "insufficientPermissions"), lost("insufficientPermissions")),
    (detailed(403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"), lost("insufficientPermissions")),
    (gmail(403, LIMIT), wait(LIMIT, MINUTE, Scope.ACCOUNT)),
    (gmail(403, "userRateLimitExceeded"), wait("userRateLimitExceeded", MINUTE, Scope.ACCOUNT)),
    (detailed(403, "RATE_LIMIT_EXCEEDED", "defaultPerMinutePerUser"), wait(LIMIT, MINUTE, Scope.ACCOUNT)),
    (detailed(403, "RATE_LIMIT_EXCEEDED", "defaultPerMinutePerProject"), wait(LIMIT, MINUTE, Scope.PROVIDER)),
    (detailed(403, "RATE_LIMIT_EXCEEDED", "unitsPerMinutePerUserPerProject"), wait(LIMIT, MINUTE, Scope.ACCOUNT)),
    (gmail(403, "dailyLimitExceeded"), guess("dailyLimitExceeded", HOUR)),
    (gmail(429, "dailyLimitExceeded"), guess("dailyLimitExceeded", HOUR, Scope.ACCOUNT)),
    (gmail(403, "accessNotConfigured"), guess("accessNotConfigured", HOUR)),
    (detailed(403, "SERVICE_DISABLED"), guess("SERVICE_DISABLED", HOUR)),
    (gmail(429, LIMIT, SENDING), guess("sendingLimit", HOUR, Scope.ACCOUNT)),
    (gmail(429, "dailyLimitExceeded", "Daily user sending quota."), guess("sendingLimit", HOUR, Scope.ACCOUNT)),
    (gmail(403, "userRateLimitExceeded", "Daily Sending Quota"), guess("sendingLimit", HOUR, Scope.ACCOUNT)),
    (
        gmail(429, LIMIT, "Retry after 2026-11-26T12:05:00.500Z (Mail sending)"),
        park("sendingLimit", 300.5 * SECOND, Scope.ACCOUNT),
    ),
    *(
        (gmail(429, LIMIT, text, **headers), wait(LIMIT, waits, Scope.ACCOUNT))
        for text, headers, waits in (
            ("Retry after 2026-11-26T14:05:00+02:00", {"retry_after": "7"}, 5 * MINUTE),
            ("Retry after 2026-11-26T11:00:00Z", {}, 0 * SECOND),
            ("Retry after 2026-13-45T99:00:00Z", {"retry_after": "soon"}, MINUTE),
            ("", {"retry_after": "Thu, 26 Nov 2026 12:10:00 GMT"}, 10 * MINUTE),
            ("Retry after 2026-11-27T12:00:00Z", {}, HOUR),
            ("", {"retry_after": "999999999"}, HOUR),
        )
    ),
    (gmail(403, "domainPolicy", "Sending is disabled for the domain"), fail("domainPolicy", Permanent)),
    (Said("gmail", 403, PAGE), again("http_403")),
    (gmail(404, "notFound"), fail("notFound", Gone)),
    (gmail(409, "aborted"), fail("aborted", Conflict)),
    (gmail(412, "conditionNotMet"), fail("conditionNotMet", Permanent)),
    (gmail(413, "uploadTooLarge"), fail("uploadTooLarge", Permanent)),
    (gmail(301, "moved"), fail("moved", Permanent)),
    (gmail(500, "backendError"), again("backendError", in_doubt=True)),
    (gmail(503, "backendError", retry_after="9"), wait("backendError", 9 * SECOND, Scope.ACCOUNT, in_doubt=True)),
    *((Said("gmail", 503, page), again("http_503", in_doubt=True)) for page in (b"", b"[1]", b"\xff")),
    (gmail(503, "backendError", vendor="gmail reads"), again("backendError")),
    (tokens(400, "invalid_grant"), lost("invalid_grant")),
    *((tokens(401, word), guess(word, HOUR)) for word in ("invalid_client", "deleted_client", "disabled_client")),
    *((tokens(status, "unauthorized_client"), lost("unauthorized_client")) for status in (400, 401, 403)),
    (tokens(400, "invalid_request"), fail("invalid_request", Permanent)),
    (tokens(403, "rate_limit_exceeded"), wait("rate_limit_exceeded", MINUTE, Scope.ACCOUNT)),
    (tokens(429, "", retry_after="17"), wait("http_429", 17 * SECOND, Scope.ACCOUNT)),
    (tokens(400, "temporarily_unavailable"), again("temporarily_unavailable")),
    (tokens(408, ""), again("http_408")),
    (tokens(500, "internal_failure"), again("internal_failure")),
]
BAD_GRAPH_TOKEN = "InvalidAuthenticationToken"
GRAPH = [
    *(
        (graph(status, word), guess(word, HOUR, Scope.ORG))
        for status, words in (
            (404, "MailboxNotEnabledForRESTAPI MailboxNotSupportedForRESTAPI ErrorInvalidUser ErrorNonExistentMailbox"),
            (403, "ErrorAccountDisabled ErrorAccountSuspend ErrorExceededMessageLimit"),
            (429, "ErrorSubmissionQuotaExceeded"),
        )
        for word in words.split()
    ),
    (graph(402, ""), guess("http_402", HOUR, Scope.ORG)),
    (graph(503, "MailboxStoreUnavailable"), wait("MailboxStoreUnavailable", 5 * MINUTE, Scope.ORG, in_doubt=True)),
    (graph(409, "ErrorMailboxMoveInProgress"), wait("ErrorMailboxMoveInProgress", 5 * MINUTE, Scope.ORG)),
    (graph(503, "MailboxInfoStale", retry_after="60"), wait("MailboxInfoStale", MINUTE, Scope.ORG, in_doubt=True)),
    (graph(401, BAD_GRAPH_TOKEN), lost(BAD_GRAPH_TOKEN)),
    (graph(401, BAD_GRAPH_TOKEN, "graph with a kept token"), again("token_refused")),
    (graph(403, "ErrorAccessDenied"), lost("ErrorAccessDenied")),
    (Said("graph", 403, PAGE), again("http_403")),
    (graph(429, "ApplicationThrottled"), wait("ApplicationThrottled", 30 * SECOND, Scope.ORG)),
    (graph(429, "", retry_after="120"), wait("http_429", 2 * MINUTE, Scope.ORG)),
    (graph(503, "", retry_after="60"), wait("http_503", MINUTE, Scope.ORG, in_doubt=True)),
    (graph(423, "resourceLocked"), again("resourceLocked")),
    (graph(409, "ErrorIrresolvableConflict"), again("ErrorIrresolvableConflict")),
    *((Said("graph", status), again(f"http_{status}", in_doubt=True)) for status in (408, 500, 504)),
    (graph(404, "ErrorItemNotFound"), fail("ErrorItemNotFound", Gone)),
    (graph(400, "ErrorInvalidRecipients"), fail("ErrorInvalidRecipients")),
    (graph(400, f"to {SENT}"), fail("http_400")),
    *((graph(status, "ErrorMessageSizeExceeded"), fail("ErrorMessageSizeExceeded")) for status in (400, 403, 413)),
    (graph(403, "ErrorSendAsDenied"), fail("ErrorSendAsDenied")),
    (graph(405, ""), fail("http_405", Permanent)),
    (Said("graph tokens", 429, None, {"Retry-After": "9"}), wait("tokens_limit", 9 * SECOND, Scope.ORG)),
    (Said("graph tokens", 404), fail("no_login_server", Gone)),
    *((Said("graph tokens", status), again(f"http_{status}")) for status in (403, 408, 503)),
]
CONCURRENT, DAILY, MONTHLY = "concurrent_idempotent_requests", "daily_quota_exceeded", "monthly_quota_exceeded"
RESEND = [
    (mail(401, "missing_api_key"), lost("missing_api_key")),
    (mail(401, "restricted_api_key"), lost("restricted_api_key")),
    (mail(403, "invalid_api_key"), lost("invalid_api_key")),
    (mail(403, "validation_error", "The domain is not verified"), lost("validation_error")),
    (mail(400, "validation_error", "API key is invalid"), lost("validation_error")),
    (Said("resend", 401, PAGE), lost("unauthorised")),
    (Said("resend", 403, PAGE), again("http_403")),
    (mail(429, DAILY, retry_after="1"), park(DAILY, DAY / 2 + CLOCKS_APART, Scope.ORG)),
    (mail(429, MONTHLY), park(MONTHLY, 4.5 * DAY + CLOCKS_APART, Scope.ORG)),
    (mail(429, "rate_limit_exceeded"), wait("rate_limit_exceeded", SECOND, Scope.ORG)),
    (mail(429, "rate_limit_exceeded", retry_after="3"), wait("rate_limit_exceeded", 3 * SECOND, Scope.ORG)),
    (mail(409, CONCURRENT), again(CONCURRENT, in_doubt=True)),
    (mail(409, CONCURRENT, retry_after="2"), wait(CONCURRENT, 2 * SECOND, Scope.ORG, in_doubt=True)),
    (mail(409, "invalid_idempotent_request"), fail("invalid_idempotent_request", Permanent)),
    (mail(500, "application_error"), again("application_error", in_doubt=True)),
    (mail(503, "", retry_after="90"), wait("http_503", 90 * SECOND, Scope.ORG, in_doubt=True)),
    (mail(408, ""), again("http_408", in_doubt=True)),
    (mail(400, "validation_error", "bad `to`"), fail("validation_error")),
    (mail(422, "invalid_from_address"), fail("invalid_from_address")),
    (mail(422, f"To: {SENT}"), fail("http_422")),
    (mail(413, ""), fail("http_413")),
    (mail(404, "not_found"), fail("not_found", Permanent)),
    (mail(302, ""), fail("http_302", Permanent)),
]
TWILIO = [
    *((sms(400, number), lost(str(number), CredentialsLost)) for number in (20005, 90010, 21212, 21659, 21660)),
    *((sms(400, number), lost(str(number), CredentialsLost)) for number in (21701, 21703, 21705)),
    (sms(401, 20003), lost("20003", CredentialsLost)),
    (sms(403, 20403), lost("20403", CredentialsLost)),
    (sms(404, 20404), lost("20404", CredentialsLost)),
    (Said("twilio", 401, PAGE), lost("http_401", CredentialsLost)),
    (sms(429, 63038, retry_after="1"), guess("63038", HOUR, Scope.ORG_PROVIDER)),
    (sms(400, 30454), guess("30454", HOUR, Scope.ORG_PROVIDER)),
    *((sms(status, 21611), wait("21611", 10 * MINUTE, Scope.ORG_PROVIDER)) for status in (400, 429)),
    (sms(429, 20429), wait("20429", SECOND, Scope.ORG_PROVIDER)),
    (sms(429, 20429, retry_after="7"), wait("20429", 7 * SECOND, Scope.ORG_PROVIDER)),
    (sms(500, 20500), again("20500", in_doubt=True)),
    (sms(503, 20503, retry_after="7"), wait("20503", 7 * SECOND, Scope.ORG_PROVIDER, in_doubt=True)),
    *((sms(400, number), fail(str(number))) for number in (21211, 21408, 21606, 21610, 21612, 21614, 21617)),
    (Said("twilio", 403, PAGE), fail("http_403", Permanent)),
]
BAD_TOKEN = "The registration token is not a valid FCM registration token"
KEPT = "fcm with a kept token"
QUOTA = ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
OF_PLATFORM = ("UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR")
FCM = [
    (push(404, "NOT_FOUND", "UNREGISTERED"), fail("unregistered")),
    (push(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", BAD_TOKEN), fail("bad_token")),
    (push(400, "INVALID_ARGUMENT"), fail("invalid_argument")),
    (push(404, "NOT_FOUND"), fail("not_found", Permanent)),
    (push(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), fail("sender_id_mismatch", Permanent)),
    (push(401, *OF_PLATFORM), fail("third_party_auth_error", Permanent)),
    (push(401, *OF_PLATFORM, vendor=KEPT), fail("third_party_auth_error", Permanent)),
    (push(401, "UNAUTHENTICATED"), lost("unauthenticated", CredentialsLost)),
    (push(401, "UNAUTHENTICATED", vendor=KEPT), again("token_refused")),
    (push(403, "PERMISSION_DENIED"), lost("permission_denied", CredentialsLost)),
    (Said("fcm", 403, PAGE), again("http_403")),
    (push(429, *QUOTA), wait("quota_exceeded", MINUTE, Scope.ORG_PROVIDER)),
    (push(429, *QUOTA, retry_after="90"), wait("quota_exceeded", 90 * SECOND, Scope.ORG_PROVIDER)),
    (push(500, "INTERNAL"), again("internal", in_doubt=True)),
    (push(503, "GONE", retry_after="9"), wait("gone", 9 * SECOND, Scope.ORG_PROVIDER, in_doubt=True)),
    (tokens(400, "invalid_grant", "fcm tokens"), lost("token_refused", CredentialsLost)),
    (tokens(408, "", "fcm tokens"), again("http_408")),
    (tokens(429, "", "fcm tokens", retry_after="5"), wait("http_429", 5 * SECOND, Scope.ORG_PROVIDER)),
    (tokens(400, "temporarily_unavailable", "fcm tokens"), again("temporarily_unavailable")),
    (tokens(503, "", "fcm tokens"), again("http_503")),
]
DISCORD = [
    (Said("discord", 401), guess("unauthorised", 15 * MINUTE)),
    *(
        (Said("discord", 429, body, headers), wait("rate_limit", waits * SECOND, scope))
        for body, headers, scope, waits in (
            ({"retry_after": 1.5, "global": True}, {}, Scope.PROVIDER, 1.5),
            ({"retry_after": 1.5}, {"X-RateLimit-Scope": "global"}, Scope.PROVIDER, 1.5),
            ({"retry_after": 2, "global": False}, {"X-RateLimit-Scope": "shared"}, Scope.ORG, 2),
            ({"retry_after": "soon"}, {"Retry-After": "7"}, Scope.ORG, 7),
            ([], {}, Scope.ORG, 60),
            ({"retry_after": 1e300}, {}, Scope.ORG, 60),
            ({"retry_after": True}, {}, Scope.ORG, 60),
        )
    ),
    (Said("discord", 403, {"code": 50013}), fail("http_403", Permanent)),
    (Said("discord", 404, {"code": 10003}), fail("channel_gone", Gone)),
    (Said("discord", 404, {"code": 10008}), fail("message_gone", Gone)),
    (Said("discord", 404, {"code": True}), fail("not_found", Gone)),
    (Said("discord", 400, {"code": 50035}), fail("http_400", Permanent)),
    *((Said("discord", status), again(f"http_{status}", in_doubt=True)) for status in (408, 502)),
    (Said("alerts", 429, {"retry_after": 0.5}), wait("rate_limit", SECOND / 2, Scope.PROVIDER)),
    (Said("alerts", 429, {"retry_after": -1}, {"Retry-After": "7"}), wait("rate_limit", 7 * SECOND, Scope.PROVIDER)),
    (Said("alerts", 429), wait("rate_limit", MINUTE, Scope.PROVIDER)),
    *((Said("alerts", status), fail("gone", Permanent)) for status in (401, 403, 404, 410)),
    *((Said("alerts", status), fail("refused", Permanent)) for status in (302, 400)),
    *((Said("alerts", status), again(f"http_{status}", in_doubt=True)) for status in (408, 502)),
]
DOCUMENTED = [*ANTHROPIC, *GOOGLE, *GRAPH, *RESEND, *TWILIO, *FCM, *DISCORD]

"""What an owner's consent must cover, whose it must be, and in which words it is refused (docs: google-oauth.md)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from urllib.parse import urlencode

from domain.jobs.failures import Conflict
from domain.payloads.mail_address import address_key

MODIFY = "https://www.googleapis.com/auth/gmail.modify"
"""Read, label, draft, send and watch; not the deletion for good (docs: gmail.md#trash)."""
FULL = "https://mail.google.com/"
SIGN_IN = ("openid", "email")
"""They tell which Google user consents."""

START, CALLBACK = "/oauth/google/start", "/oauth/google/callback"
"""Below the gateway's public address: the page that a link opens, and where Google sends browsers back."""

LINK_LIVES = timedelta(hours=24)
"""A link is sent to a person, who may read it tomorrow. It works once, and for one mailbox only."""
ANSWER_WITHIN = timedelta(minutes=15)
"""From our page to the end of Google's screen, with its password and its second factor."""
EXCHANGE_WITHIN = timedelta(seconds=60)
"""An exchange takes two calls of ten seconds at most; what is not recorded after this time never will be."""


class ConsentRefusal(StrEnum):
    """Why a mailbox was not connected."""

    DENIED = "denied"
    POLICY = "policy"
    GOOGLE = "google"
    """Google sent the owner back with another error."""
    MISSING_SCOPE = "missing_scope"
    NO_REFRESH_TOKEN = "no_refresh_token"  # noqa: S105 - a reason, no token
    OTHER_MAILBOX = "other_mailbox"
    OTHER_USER = "other_user"
    UNKNOWN_USER = "unknown_user"
    """Only the command can leave it open who consented: a browser comes back with Google's word for it."""
    OTHER_ORG = "other_org"
    NO_MAILBOX = "no_mailbox"
    CODE_REFUSED = "code_refused"
    CLIENT_REFUSED = "client_refused"
    NO_ANSWER = "no_answer"
    TOO_LATE = "too_late"
    BROKEN_OFF = "broken_off"


WORDS: Mapping[ConsentRefusal, str] = {
    ConsentRefusal.DENIED: "You did not allow the access, so nothing was connected.",
    ConsentRefusal.POLICY: "The administrator of your Google Workspace does not allow this application. Ask them to"
    " allow it.",
    ConsentRefusal.GOOGLE: "Google did not connect the mailbox. Its reason: {detail}.",
    ConsentRefusal.MISSING_SCOPE: "A box was left unticked on Google's page. What is missing: {detail}.",
    ConsentRefusal.NO_REFRESH_TOKEN: "Google gave no lasting access. Remove the application at"
    " https://myaccount.google.com/connections and connect again.",
    ConsentRefusal.OTHER_MAILBOX: "You signed in with another mailbox than this link is for: {detail}.",
    ConsentRefusal.OTHER_USER: "The address {detail} belongs to another Google user than the one who connected it"
    " before. An operator must disconnect the mailbox first.",
    ConsentRefusal.UNKNOWN_USER: "A known Google user connected {detail} before, and nobody says that it is the same"
    " one. Give their id (--google-user), or connect it by browser.",
    ConsentRefusal.OTHER_ORG: "The mailbox {detail} is connected to another organisation. It must be disconnected there"
    " first.",
    ConsentRefusal.NO_MAILBOX: "This Google account has no Gmail mailbox.",
    ConsentRefusal.CODE_REFUSED: "Google did not accept its own answer any more: it was too old, or used before.",
    ConsentRefusal.CLIENT_REFUSED: "Google does not know this application. An operator must check its client id, its"
    " secret and its redirect address ({detail}).",
    ConsentRefusal.NO_ANSWER: "Google did not answer ({detail}).",
    ConsentRefusal.TOO_LATE: "It took too long.",
    ConsentRefusal.BROKEN_OFF: "The connection was broken off before its end was known.",
}
"""What the owner reads. Nothing is connected in any of these cases."""

SCOPE_WORDS: Mapping[str, str] = {
    MODIFY: "to read, write and send mail (gmail.modify)",
    FULL: "to delete mail for good (mail.google.com)",
}

ERROR_WORDS: Mapping[str, ConsentRefusal] = {
    "access_denied": ConsentRefusal.DENIED,
    "admin_policy_enforced": ConsentRefusal.POLICY,
    "org_internal": ConsentRefusal.POLICY,
}
"""By what Google sends back as `error`."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Whose consent was asked for, and for what."""

    email: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConsentAnswer:
    """Whose mailbox, and to what its owner consented."""

    email: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class MailboxOwners:
    """Who has a mailbox already."""

    subject: str | None
    """The Google user by whom it is connected to this org; None where it is not, and where nobody knows."""
    was_known: bool
    """Whether anybody knows a Google user who has connected it to this org, or had."""
    is_elsewhere: bool
    """Whether another org has it."""


@dataclass(frozen=True, slots=True)
class RefusedConsent:
    """Why, and what the words name."""

    why: ConsentRefusal
    detail: str = ""

    def words(self) -> str:
        """What the owner reads."""
        return WORDS[self.why].format(detail=self.detail)


def missing_settings(public_url: str, client_id: str, client_secret: str) -> str:
    """What must be set before a mailbox can be connected by browser; empty when nothing is missing."""
    given = {
        "POSTROOM_PUBLIC_URL": public_url,
        "POSTROOM_GOOGLE_CLIENT_ID": client_id,
        "POSTROOM_GOOGLE_CLIENT_SECRET": client_secret,
    }
    return " and ".join(name for name, value in given.items() if not value.strip())


def check_set_up(public_url: str, client_id: str, client_secret: str) -> None:
    """Whether a browser could be sent anywhere; raises `Conflict` with the settings that are missing."""
    missing = missing_settings(public_url, client_id, client_secret)
    if missing:
        raise Conflict(f"no mailbox can be connected by browser: set {missing}", code="oauth.not_set_up")


def link_address(public_url: str, secret: str) -> str:
    """What the owner opens."""
    return f"{public_url}{START}?{urlencode({'link': secret})}"


def mail_scopes(*, deletes: bool) -> tuple[str, ...]:
    """The scopes to ask for; only a mailbox whose mail may be deleted for good needs the full scope."""
    return (MODIFY, FULL) if deletes else (MODIFY,)


def missing_scopes(wanted: Collection[str], granted: Collection[str]) -> tuple[str, ...]:
    """Which of the wanted scopes the consent does not cover; the full scope covers the others."""
    return tuple(scope for scope in wanted if scope not in granted and FULL not in granted)


def refused_scopes(wanted: Collection[str], granted: Collection[str]) -> RefusedConsent | None:
    """Whether a box was left unticked."""
    missing = missing_scopes(wanted, granted)
    detail = ", ".join(SCOPE_WORDS.get(scope, scope) for scope in missing)
    return RefusedConsent(ConsentRefusal.MISSING_SCOPE, detail) if missing else None


def refusal_of(expected: Expected, granted: ConsentAnswer) -> RefusedConsent | None:
    """Why this consent is not the one that was asked for; None when it is."""
    incomplete = refused_scopes(expected.scopes, granted.scopes)
    if incomplete is not None:
        return incomplete
    theirs, wanted = address_key(granted.email), address_key(expected.email)
    if theirs != wanted:
        return RefusedConsent(ConsentRefusal.OTHER_MAILBOX, f"{theirs} instead of {wanted}")
    return None


def refusal_for(owners: MailboxOwners, email: str, subject: str | None) -> RefusedConsent | None:
    """Why a mailbox is not connected for this Google user, at any entry point; None when it may be."""
    if subject is None and owners.was_known:
        return RefusedConsent(ConsentRefusal.UNKNOWN_USER, email)
    if owners.subject not in {None, subject}:
        return RefusedConsent(ConsentRefusal.OTHER_USER, email)
    return RefusedConsent(ConsentRefusal.OTHER_ORG, email) if owners.is_elsewhere else None


def refusal_by_google(error: str) -> RefusedConsent:
    """What `error` in Google's redirect means; repeats only a word, because anybody can write such an address."""
    why = ERROR_WORDS.get(error, ConsentRefusal.GOOGLE)
    is_word = len(error) <= 64 and error.replace("_", "").isalpha() and error.isascii()  # noqa: PLR2004 - as errors are
    return RefusedConsent(why, (error if is_word else "an unknown error") if why is ConsentRefusal.GOOGLE else "")

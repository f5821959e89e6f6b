"""The consent screen and the exchange of codes, as Google does them."""

import base64
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from googleapiclient.errors import HttpError

from sandbox.emulator.control import GmailAccount, GmailControl
from sandbox.emulator.emulator import Emulator
from sandbox.google.consenting import ScreenRefused, consent
from tests.sandbox.sdk import gmail_users

BACK = "https://app.example.org/back"
MODIFY = "https://www.googleapis.com/auth/gmail.modify"
# The example of RFC 7636, appendix B.
VERIFIER, CHALLENGE = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
pytestmark = pytest.mark.usefixtures("account")


@pytest.fixture(autouse=True)
def registered(control: GmailControl) -> None:
    control.register_client("app", "app-secret", BACK)


def screen(control: GmailControl, **changes: str) -> str:
    asked = {
        "client_id": "app",
        "redirect_uri": BACK,
        "response_type": "code",
        "scope": f"openid email {MODIFY}",
        "state": "state-1",
        "access_type": "offline",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "nonce": "nonce-1",
    }
    return f"{control.url}/o/oauth2/v2/auth?{urlencode(asked | changes)}"


def returned(location: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


def exchange(control: GmailControl, code: str, **changes: str) -> tuple[int, dict[str, Any]]:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": "app",
        "client_secret": "app-secret",
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
    }
    request = urllib.request.Request(f"{control.url}/token", urlencode(form | changes).encode())  # noqa: S310 - the test's own
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def agree(control: GmailControl, account: GmailAccount, **changes: str) -> str:
    return returned(consent(screen(control, **changes), account.email))["code"]


def test_a_code_opens_the_mailbox_once(control: GmailControl, account: GmailAccount, gmail: Emulator) -> None:
    back = returned(consent(screen(control, prompt="consent"), account.email))
    assert (back["state"], MODIFY in back["scope"].split()) == ("state-1", True)
    status, given = exchange(control, back["code"])
    assert (status, given["refresh_token"][:3], given["token_type"]) == (200, "1//", "Bearer")
    assert given["scope"].split() == ["openid", "https://www.googleapis.com/auth/userinfo.email", MODIFY]
    body = given["id_token"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    assert (claims["aud"], claims["email"], claims["nonce"], len(claims["sub"])) == (
        "app",
        account.email,
        "nonce-1",
        21,
    )
    with gmail_users(gmail.url, given["access_token"]) as users:
        assert users.getProfile(userId="me").execute()["emailAddress"] == account.email
    assert exchange(control, back["code"]) == (
        400,
        {"error": "invalid_grant", "error_description": "Malformed auth code."},
    )
    assert control.journal("oauth.token")[0].account == account.email


def test_the_verifier_must_fit_and_so_must_everything_else(control: GmailControl, account: GmailAccount) -> None:
    code = agree(control, account)
    for changes, error in (
        ({"code_verifier": "another"}, "invalid_grant"),
        ({"redirect_uri": f"{BACK}/elsewhere"}, "redirect_uri_mismatch"),
        ({"client_secret": "guessed"}, "invalid_client"),
        ({"client_id": "stranger"}, "invalid_client"),
        ({"code": "4/0Aforged"}, "invalid_grant"),
    ):
        assert exchange(control, **({"code": code} | changes))[1]["error"] == error
    assert exchange(control, code)[0] == 200, "a refused attempt does not use the code up"


def test_a_code_lives_for_ten_minutes(control: GmailControl, account: GmailAccount) -> None:
    code = agree(control, account)
    control.advance_clock(601)
    assert exchange(control, code)[0] == 400


def test_a_refresh_token_comes_with_the_first_consent_or_when_it_is_asked_for(
    control: GmailControl, account: GmailAccount
) -> None:
    """The account has consented before, as `create_account` says."""
    assert "refresh_token" not in exchange(control, agree(control, account))[1]
    assert "refresh_token" in exchange(control, agree(control, account, prompt="consent"))[1]
    assert "refresh_token" not in exchange(control, agree(control, account, prompt="consent", access_type="online"))[1]
    account.revoke()
    assert "refresh_token" in exchange(control, agree(control, account))[1]


def test_a_scope_left_unticked_is_not_granted(control: GmailControl, account: GmailAccount, gmail: Emulator) -> None:
    back = returned(consent(screen(control), account.email, untick=[MODIFY]))
    given = exchange(control, back["code"])[1]
    assert MODIFY not in given["scope"].split()
    with gmail_users(gmail.url, given["access_token"]) as users, pytest.raises(HttpError) as refused:
        users.getProfile(userId="me").execute()
    assert refused.value.status_code == 403
    with gmail_users(gmail.url, "access-1") as users:
        assert users.getProfile(userId="me").execute(), "the earlier consent keeps its scopes"


def test_who_cancels_is_sent_back_without_a_code(control: GmailControl, account: GmailAccount) -> None:
    assert returned(consent(screen(control), account.email, deny=True)) == {
        "error": "access_denied",
        "state": "state-1",
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"client_id": "stranger"}, "invalid_client"),
        ({"redirect_uri": "https://elsewhere.example.org/"}, "redirect_uri_mismatch"),
        ({"response_type": "token"}, "invalid_request"),
        ({"code_challenge_method": "S512"}, "invalid_request"),
    ],
)
def test_what_google_shows_on_a_page_of_its_own(
    control: GmailControl, account: GmailAccount, changes: dict[str, str], words: str
) -> None:
    with pytest.raises(ScreenRefused, match=words):
        consent(screen(control, **changes), account.email)


def test_nobody_signs_in_to_an_account_that_is_none(control: GmailControl) -> None:
    with pytest.raises(ScreenRefused, match="invalid_account"):
        consent(screen(control), "nobody@example.com")

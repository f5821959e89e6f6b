"""Access tokens of an org's service account; a process keeps each until it is about to end (docs: fcm.md#tokens)."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple
from urllib.parse import urlencode

from google.auth import crypt, jwt
from pydantic import SecretStr

from providers.fcm.failures import PROVIDER, failure_of_tokens
from providers.rest_client import RestClient, unreadable
from providers.secret_texts import bad_secret, read_texts

SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LASTS = timedelta(hours=1)
"""Of the assertion; the token lasts as long (https://developers.google.com/identity/protocols/oauth2/service-account)."""
RENEWED_BEFORE = timedelta(minutes=5)
MOST_KEPT = 1_000
"""Orgs whose tokens a process keeps."""


class AccessToken(NamedTuple):
    """A token, and whether it came just now or was kept."""

    value: SecretStr
    is_fresh: bool


class TokenStore:
    """The tokens of all orgs that a process has sent for; safe to share between threads."""

    def __init__(self) -> None:
        """Begin without tokens."""
        self._tokens: OrderedDict[tuple[str, str], tuple[datetime, SecretStr]] = OrderedDict()
        self._lock = Lock()

    def find(self, key: tuple[str, str], now: datetime) -> SecretStr | None:
        """A token that is still good for a while."""
        with self._lock:
            until, token = self._tokens.get(key, (now, None))
            return token if until - now > RENEWED_BEFORE else None

    def keep(self, key: tuple[str, str], token: SecretStr, until: datetime) -> None:
        """Keep a token; the one that was kept longest goes for one too many."""
        with self._lock:
            self._tokens[key] = (until, token)
            self._tokens.move_to_end(key)
            while len(self._tokens) > MOST_KEPT:
                self._tokens.popitem(last=False)

    def drop(self, key: tuple[str, str]) -> None:
        """Forget a token that was refused."""
        with self._lock:
            self._tokens.pop(key, None)


class ServiceAccountTokens:
    """The tokens of one service account."""

    def __init__(
        self, secret: SecretStr, url: str, client: RestClient, store: TokenStore, clock: Callable[[], datetime]
    ) -> None:
        """`url` is the token endpoint. Raises `CredentialsLost` for a secret that is no service account's key file."""
        self._email, self._private_key = read_texts(PROVIDER, secret, "client_email", "private_key")
        self._url, self._client, self._store, self._clock = url, client, store, clock
        # By the key, too: a new one is not to go on with the old one's token.
        self._key = (self._email, str(hash(self._private_key)))

    def get(self) -> AccessToken:
        """A token, kept or fresh; raises as the endpoint's table says. Whatever it raises, no message was sent."""
        kept = self._store.find(self._key, self._clock())
        if kept is not None:
            return AccessToken(kept, is_fresh=False)
        form = urlencode({"grant_type": GRANT, "assertion": self._assertion()}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self._client.call("token", "POST", self._url, headers=headers, body=form)
        token, lasts = answer.word("access_token"), answer.field("expires_in")
        failure = failure_of_tokens(answer, self._clock())
        if failure is not None:
            raise failure
        if not token or not isinstance(lasts, int):
            raise unreadable(PROVIDER, answer.status)
        made = SecretStr(token)
        self._store.keep(self._key, made, self._clock() + timedelta(seconds=lasts))
        return AccessToken(made, is_fresh=True)

    def drop(self) -> None:
        """Forget the token that was refused: the account may be good for another."""
        self._store.drop(self._key)

    def _assertion(self) -> str:
        try:
            signer = crypt.RSASigner.from_string(self._private_key)  # type: ignore[no-untyped-call] # as below
        except ValueError:
            raise bad_secret(PROVIDER, "has a private_key that is none in PEM") from None
        now = self._clock()
        claims = {
            "iss": self._email,
            "scope": SCOPE,
            "aud": self._url,
            "iat": int(now.timestamp()),
            "exp": int((now + LASTS).timestamp()),
        }
        signed: bytes = jwt.encode(signer, claims)  # type: ignore[no-untyped-call] # the package ships no types
        return signed.decode()

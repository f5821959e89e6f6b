"""Whose an id token is: its signature, and every claim that says for whom and for which attempt it was made."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import jwt

from domain.jobs.failures import Forbidden
from domain.orgs.access.operators import OperatorIdentity

ALGORITHMS = frozenset({"RS256", "ES256"})
CLOCK_SKEW_S = 10
LONGEST_TOKEN = 16_384
LONGEST_SUBJECT = 255
REQUIRED = ["iss", "sub", "aud", "exp", "iat", "nonce", "email"]

UNREADABLE = (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError)
"""Whatever the package raises for a token of a stranger."""


@dataclass(frozen=True, slots=True)
class ExpectedToken:
    """For whom and for which attempt a token has to be."""

    issuer: str
    client_id: str
    nonce: str


def check_id_token(
    token: str, keys_with: Callable[[str], Mapping[str, str]], expected: ExpectedToken
) -> OperatorIdentity:
    """Whose it is. `keys_with` has the provider's keys as `{key id: JWK}`, with the named one if the provider has it.

    Raises `Forbidden` with the reason, which quotes nothing of the token.
    """
    claims = _verified(token, keys_with, expected)
    if not hmac.compare_digest(str(claims["nonce"]).encode(), expected.nonce.encode()):
        raise Forbidden("the id token is of another attempt", code="oidc.nonce")
    audience = claims["aud"]
    party = claims.get("azp", expected.client_id if isinstance(audience, str) or len(audience) == 1 else None)
    if party != expected.client_id:
        raise Forbidden("the id token was made for another client", code="oidc.azp")
    email, subject = claims["email"], claims["sub"]
    if not isinstance(email, str) or claims.get("email_verified") is not True:
        raise Forbidden("the provider has not verified the e-mail address", code="oidc.email")
    if not 0 < len(subject) <= LONGEST_SUBJECT:
        raise Forbidden("the id token names nobody", code="oidc.token")
    account = hashlib.sha256(f"{expected.issuer}\0{subject}".encode(errors="replace")).digest()
    return OperatorIdentity(email, account, _time(claims.get("auth_time")))


def _verified(token: str, keys_with: Callable[[str], Mapping[str, str]], expected: ExpectedToken) -> Mapping[str, Any]:
    try:
        header = jwt.get_unverified_header(token[: LONGEST_TOKEN + 1])
        if len(token) > LONGEST_TOKEN or "crit" in header:
            raise ValueError("too long, or with extensions that have to be understood")
        key_id = str(header.get("kid", ""))
        # The key says the algorithm, and not the token: nobody signs by HMAC with what everybody may read.
        key = jwt.PyJWK.from_json(keys_with(key_id).get(key_id, "{}"))
        return jwt.decode(
            token, key, algorithms=sorted(ALGORITHMS & {key.algorithm_name}), audience=expected.client_id,
            issuer=expected.issuer, leeway=CLOCK_SKEW_S, options={"require": REQUIRED},
        )  # fmt: skip
    except UNREADABLE as error:
        reason = type(error).__name__
    # Outside the handler, so that no traceback quotes the token.
    raise Forbidden(f"the id token is not good: {reason}", code="oidc.token")


def _time(value: object) -> datetime | None:
    """When the person proved who they are; None where the provider does not say."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, ArithmeticError, OSError):
        return None

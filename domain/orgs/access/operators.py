"""Operators: people who sign in to the console, what the role of each allows, and how long a session of one lasts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import urlencode
from uuid import UUID

from domain.jobs.failures import Conflict, Forbidden, Invalid
from domain.orgs.access.api_keys import Role
from domain.payloads.mail_address import address_key

CONSOLE = "/console"
SIGN_IN, SIGN_OUT, PROVE = f"{CONSOLE}/sign-in", f"{CONSOLE}/sign-out", f"{CONSOLE}/prove"
PROVIDER_START, PROVIDER_PROOF = f"{SIGN_IN}/provider", f"{PROVE}/provider"
PROVIDER_RETURN = f"{SIGN_IN}/provider/return"
"""Where browsers are sent to the OpenID Connect provider of the settings, and where it sends them back to."""
NEW_PASSWORD = f"{CONSOLE}/password"
"""Below the gateway's public address: the page that a one-time link opens."""

LINK_LIVES = timedelta(hours=24)
"""A link is sent to a person, who may read it tomorrow. It works once."""
IDLE = timedelta(minutes=30)
LIVES = timedelta(hours=12)
"""A session ends when nobody has used it for `IDLE`, and in any case `LIVES` after the sign-in."""
PROVEN_FOR = timedelta(minutes=10)
"""How long after the password was given, or the provider asked, deeds are done that ask for it once more."""
NOTE_USE_EVERY = timedelta(minutes=1)
"""How old the time of a session's last use may become: to write it at each request would make each a writing one."""

SHORTEST_PASSWORD, LONGEST_PASSWORD = 15, 1000
"""Characters: as many as NIST SP 800-63B-4 asks of a password without a second factor; longer ones cost no more."""


class OperatorRole(StrEnum):
    """What an operator may do; each role includes those before it."""

    VIEWER = "viewer"
    """Look at everything, without the values that belong to customers."""
    SUPPORT = "support"
    """Look at values, too, each look being audited; and what a service may ask for: a sync, an undo."""
    OPERATOR = "operator"
    """Decide: retries, dead letters, approvals, effects in doubt, gates."""
    ADMIN = "admin"
    """What concerns the whole fleet or money: operators, keys, budgets, the gate of the fleet."""

    def includes(self, needed: "OperatorRole") -> bool:
        """Whether this role may do what the other may."""
        order = list(OperatorRole)
        return order.index(self) >= order.index(needed)


MAY: Mapping[OperatorRole, Role] = {
    OperatorRole.VIEWER: Role.READER,
    OperatorRole.SUPPORT: Role.WRITER,
    OperatorRole.OPERATOR: Role.OPERATOR,
    OperatorRole.ADMIN: Role.OPERATOR,
}
"""The role of an API key that may call the same operations with a route. An operation for operators only may name a
role of its own."""


SEES_VALUES = OperatorRole.SUPPORT
"""Who may look at payloads, and at mail's senders and subjects, instead of their shapes."""


def operator_key(email: str) -> str:
    """An operator's address as it is compared: the same for each way to write it.

    Empty, which is nobody's, for other letters than ASCII's before the @: Unicode folds some of them into ASCII's, and
    a look-alike that its provider has verified would be another operator.
    """
    return address_key(email) if email.rpartition("@")[0].isascii() else ""


def least_of(role: Role) -> OperatorRole:
    """The least role of an operator who may do what takes that role of an API key."""
    return next(one for one in OperatorRole if MAY[one].includes(role))


@dataclass(frozen=True, slots=True)
class OperatorIdentity:
    """Who somebody is by the word of the OpenID Connect provider."""

    email: str
    account: bytes
    """A digest of issuer and subject: the account stays the same when its address goes to somebody else."""
    authenticated_at: datetime | None
    """When the provider last asked the person for a proof; None where it does not say."""


class NotProven(Forbidden):
    """Somebody else may sit at the browser by now: the deed takes the password once more."""

    code = "password_needed"


@dataclass(frozen=True, slots=True)
class OperatorRights:
    """What one operator may do, at this moment."""

    role: OperatorRole
    org_ids: frozenset[UUID] | None
    """The orgs of a scoped operator; None for all orgs and what is of none."""
    is_proven: bool
    """Whether the password was given within `PROVEN_FOR`."""

    def check(self, needed: OperatorRole, *, is_of_fleet: bool = False) -> None:
        """Raise `Forbidden` for a role that does not include the needed one, or a scope that is not the fleet."""
        if not self.role.includes(needed):
            raise Forbidden(f"an operator of the role {self.role.value} may not do this; it takes {needed.value}")
        if is_of_fleet and self.org_ids is not None:
            raise Forbidden("this is about the whole fleet, and the operator is of some orgs")

    def check_proof(self) -> None:
        """Raise `NotProven` for whoever has not given the password lately."""
        if not self.is_proven:
            raise NotProven("this takes the password once more")

    def org_of(self, named: UUID | None) -> UUID | None:
        """The org to act for: the one that is named, or the only one of the scope; None for all.

        Raises `Forbidden` for an org outside of the scope, and alike for one that does not exist.
        """
        if self.org_ids is None:
            return named
        only = next(iter(self.org_ids)) if len(self.org_ids) == 1 else None
        if (named or only) not in self.org_ids:
            raise Forbidden("the operator is of other orgs" if named else "one of the operator's orgs must be named")
        return named or only


def check_password(text: str, email: str) -> str:
    """A new password; raises `Invalid` for one that is too short, too long, or the person's address."""
    if not SHORTEST_PASSWORD <= len(text) <= LONGEST_PASSWORD:
        raise Invalid("password", f"has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
    if email.lower() in text.lower() or len(set(text)) < 5:  # noqa: PLR2004 - fewer letters are no password
        raise Invalid("password", "must not be the e-mail address, nor one letter again and again")
    return text


def link_address(public_url: str, secret: str) -> str:
    """The one-time link; raises `Conflict` where the deployment has no public address."""
    if not public_url:
        raise Conflict("no link can be made: POSTROOM_PUBLIC_URL is not set")
    return f"{public_url}{NEW_PASSWORD}?{urlencode({'link': secret})}"


def cookie_name(public_url: str) -> tuple[str, bool]:
    """The session's cookie, and whether it is sent over TLS only.

    Only on a machine's own plain address has it neither, for there the browser would refuse it.
    """
    is_own = re.fullmatch(r"http://(localhost|127\.0\.0\.1)(:[0-9]+)?", public_url) is not None
    return ("postroom", False) if is_own else ("__Host-postroom", True)


def page_after(asked: str) -> str:
    """Where to go after the sign-in: a page of the console, whatever was asked for."""
    found = re.fullmatch(rf"{CONSOLE}((?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*)(\?[!-\[\]-~]*)?", asked, re.ASCII)
    return asked if found else CONSOLE

"""Operators of the console: who may sign in, with which role, for which orgs, and where they have signed in."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import SYSTEM_ORG, JsonObject
from domain.orgs.access.operators import IDLE, OperatorRole, link_address, operator_key
from operations.call import Call
from operations.operation import Area, OperatorsOnly, Option, Record
from operations.pages import Page, Window
from storage.orgs.access import operators
from storage.orgs.access.operators import Operator
from storage.orgs.orgs import find as find_org
from storage.postgres.database import Transaction

OPERATORS = Area("operators", "Let people sign in to the console, say what each may do, and end their sessions.")
ADMINS = OperatorsOnly("operators are of the fleet, and an API key is of one org", OperatorRole.ADMIN)
Orgs = Annotated[
    list[str] | None, Option("--org"), Field(max_length=1000, description="Only of this org, by id or name.")
]
Role = Annotated[OperatorRole, Field(description="What the operator may do; each role includes those before it.")]


class OperatorView(Record):
    """An operator of the console."""

    plural: ClassVar = "operators"
    columns: ClassVar = ("email", "role", "org_ids", "signed_in_at", "can_sign_in", "has_link", "deactivated_at")
    operator_id: UUID
    email: str
    role: OperatorRole
    org_ids: list[UUID] | None = Field(description="Null: all orgs, and what is of none.")
    created_at: datetime
    created_by: str
    signed_in_at: datetime | None
    can_sign_in: bool
    has_link: bool | None = Field(description="Whether a one-time link was made that is still good.")
    deactivated_at: datetime | None


class OperatorLink(Record):
    """A one-time link, by which an operator chooses a password. It is shown this once."""

    shown_once: ClassVar = ("link",)
    operator_id: UUID
    email: str
    link: str


class SessionView(Record):
    """A browser in which an operator has signed in."""

    plural: ClassVar = "sessions"
    session_id: UUID
    email: str
    began_at: datetime
    seen_at: datetime = Field(description="The last use, a minute late at the most.")
    proved_at: datetime = Field(description="When the password was last given.")
    ends_at: datetime = Field(description=f"At the latest; {IDLE.seconds // 60} minutes after the last use otherwise.")


class EndedSessions(Record):
    """Whose sessions have ended."""

    operator_id: UUID
    ended: int


@OPERATORS.look("list", ADMINS)
def list_operators(call: Call, window: Window) -> Page[OperatorView]:
    """List the operators, by address."""
    with call.reading() as tx:
        return window.records(tx, "list_operators", OperatorView)


@OPERATORS.look("show", ADMINS)
def show_operator(call: Call, email: str) -> OperatorView:
    """Show an operator."""
    with call.reading() as tx:
        return _view(tx, operators.named(tx, email))


@OPERATORS.deed("add", ADMINS, events=("operator.added",))
def add_operator(call: Call, email: str, *, role: Role, orgs: Orgs = None) -> OperatorLink:
    """Add an operator, of all orgs or of some; the answer is a link that works once, within a day."""
    with call.writing() as tx:
        org_ids = _orgs(tx, orgs)
        operator_id, secret = operators.add(tx, email, role, org_ids, by=call.origin.actor_id)
        call.audit(tx, SYSTEM_ORG, _facts(operator_id, role, org_ids))
        return _link(call, operators.named(tx, email), secret)


@OPERATORS.deed("set", ADMINS, events=("operator.changed",))
def set_operator(
    call: Call,
    email: str,
    *,
    role: Annotated[OperatorRole | None, Field(description="What the operator may do from now on.")] = None,
    orgs: Orgs = None,
    all_orgs: Annotated[bool, Field(description="Of all orgs, and of what is of none.")] = False,
) -> OperatorView:
    """Change an operator's role or orgs; what is not given stays. The operator signs in anew."""
    if role is None and not orgs and not all_orgs:
        raise Invalid("role", "nothing to change is given: a role, or orgs")
    if orgs and all_orgs:
        raise Invalid("orgs", "give either orgs or all of them")
    with call.writing() as tx:
        found = _other(call, operators.named(tx, email))
        changed = operators.change(tx, found.operator_id, role, _orgs(tx, orgs), all_orgs=all_orgs)
        call.audit(tx, SYSTEM_ORG, _facts(found.operator_id, *changed))
        return _view(tx, found)


@OPERATORS.deed("reset-link", ADMINS, events=("operator.link_made",))
def reset_operator_link(call: Call, email: str) -> OperatorLink:
    """Make a new one-time link; an earlier one is good no more. The password stays until the link is used."""
    with call.writing() as tx:
        found = operators.named(tx, email)
        secret = operators.reset_link(tx, found.operator_id)
        call.audit(tx, SYSTEM_ORG, {"operator_id": str(found.operator_id)})
        return _link(call, found, secret)


@OPERATORS.deed("deactivate", ADMINS, events=("operator.deactivated",))
def deactivate_operator(call: Call, email: str) -> OperatorView:
    """Let an operator in no more, from the next request on; password, link and sessions go."""
    with call.writing() as tx:
        found = _other(call, operators.named(tx, email))
        operators.deactivate(tx, found.operator_id)
        call.audit(tx, SYSTEM_ORG, {"operator_id": str(found.operator_id)})
        return _view(tx, found)


@OPERATORS.deed("remove", ADMINS, events=("operator.removed",))
def remove_operator(call: Call, email: str) -> OperatorView:
    """Forget an operator, with the address; the audit log keeps the id of whoever did something."""
    with call.writing() as tx:
        found = _other(call, operators.named(tx, email))
        removed = _view(tx, found)
        operators.remove(tx, found.operator_id)
        call.audit(tx, SYSTEM_ORG, {"operator_id": str(found.operator_id)})
        return removed


@OPERATORS.look("sessions", ADMINS)
def list_operator_sessions(
    call: Call,
    window: Window,
    *,
    email: Annotated[str | None, Field(description="Only of this operator.")] = None,
) -> Page[SessionView]:
    """List the sessions that are good by now, the newest first."""
    with call.reading() as tx:
        return window.records(tx, "list_operator_sessions", SessionView, email=email and operator_key(email), idle=IDLE)


@OPERATORS.deed("end-session", ADMINS, events=("operator.session_ended",))
def end_operator_session(call: Call, session_id: UUID) -> EndedSessions:
    """End one session, from its next request on."""
    with call.writing() as tx:
        operator_id = operators.end_session(tx, session_id)
        if operator_id is None:
            raise Gone(f"there is no session {session_id}")
        call.audit(tx, SYSTEM_ORG, {"operator_id": str(operator_id), "session_id": str(session_id)})
    return EndedSessions(operator_id=operator_id, ended=1)


@OPERATORS.deed("end-sessions", ADMINS, events=("operator.sessions_ended",))
def end_operator_sessions(call: Call, email: str) -> EndedSessions:
    """End all sessions of an operator, from the next request on."""
    with call.writing() as tx:
        found = operators.named(tx, email)
        ended = operators.end_sessions(tx, found.operator_id)
        call.audit(tx, SYSTEM_ORG, {"operator_id": str(found.operator_id), "ended": ended})
    return EndedSessions(operator_id=found.operator_id, ended=ended)


def _orgs(tx: Transaction, named: Sequence[str] | None) -> Sequence[UUID] | None:
    """The orgs by id or name, each once; None where none is named. Raises `Gone` for one that does not exist."""
    return sorted({find_org(tx, one) for one in named}) if named else None


def _other(call: Call, found: Operator) -> Operator:
    """The operator, who is not the caller: a fleet without an admin is mended at the terminal only."""
    if call.origin.actor_id == found.actor_id:
        raise Conflict("nobody changes their own role or removes themselves: another admin does, or the terminal")
    return found


def _facts(operator_id: UUID, role: OperatorRole, org_ids: Sequence[UUID] | None) -> JsonObject:
    return {
        "operator_id": str(operator_id),
        "role": role.value,
        "org_ids": None if org_ids is None else [*map(str, org_ids)],
    }


def _link(call: Call, found: Operator, secret: str) -> OperatorLink:
    address = link_address(call.settings.public_url, secret)
    return OperatorLink(operator_id=found.operator_id, email=found.email, link=address)


def _view(tx: Transaction, found: Operator) -> OperatorView:
    (row,) = tx.run("get_operator", email=found.email)
    return OperatorView.model_validate(row._asdict())

"""How operators come in: sign-ins, passwords by a one-time link, proofs once more, and sign-outs.

Who calls is known by what they prove here, so that these are no operations, which a caller with a role calls.
"""

from uuid import UUID

from domain.jobs.failures import Gone
from domain.jobs.job import SYSTEM_ORG
from domain.orgs.access.api_keys import Role
from domain.orgs.access.operators import OperatorIdentity
from operations.call import Call
from storage.orgs.access import operators
from storage.postgres.database import Transaction

USED = "this link was used already, or is too old"


def sign_in(call: Call, operator_id: UUID, proof: str | OperatorIdentity, *, before: UUID | None = None) -> str:
    """Begin a session of an operator who has given the password of that hash, or has come from the provider.

    Returns the secret of its cookie.

    The session that the browser had before ends: nobody goes on in one that somebody else has begun. Raises `Gone`
    for an operator who was deactivated meanwhile, or has another password or account.
    """
    call.begin(Role.READER, ("operator.signed_in",), is_audited=False, of_org=False)
    with call.writing() as tx:
        if before is not None:
            operators.end_session(tx, before)
        return _session(call, tx, operator_id, proof, "password" if isinstance(proof, str) else "provider")


def set_password(call: Call, link: str, password_hash: str) -> str:
    """Use a one-time link up for a password, and sign in; raises `Gone` for one that is good no more."""
    call.begin(Role.READER, ("operator.password_set", "operator.signed_in"), is_audited=False, of_org=False)
    with call.writing() as tx:
        operator_id = operators.use_link(tx, link, password_hash)
        if operator_id is None:
            raise Gone(USED)
        call.audit(tx, SYSTEM_ORG, {"operator_id": str(operator_id)}, event="operator.password_set")
        return _session(call, tx, operator_id, password_hash, "link")


def prove(call: Call, session_id: UUID, identity: OperatorIdentity | None = None) -> str:
    """Note that the operator has proven once more who they are, by a password or by the provider's word.

    Returns the secret of the session's new cookie. Raises `Gone` for a session that has ended, for another account,
    and where the provider has not asked for a proof lately.
    """
    call.begin(Role.READER, ("operator.proven",), is_audited=False, of_org=False)
    with call.writing() as tx:
        if identity is None:
            secret = operators.prove(tx, session_id)
        else:
            secret = operators.prove_by_account(tx, session_id, identity)
        if secret is None:
            raise Gone("the session has ended, or is not this person's")
        call.audit(tx, SYSTEM_ORG, {"session_id": str(session_id)})
        return secret


def sign_out(call: Call, session_id: UUID) -> None:
    """End the caller's session."""
    call.begin(Role.READER, ("operator.signed_out",), is_audited=False, of_org=False)
    with call.writing() as tx:
        operators.end_session(tx, session_id)
        call.audit(tx, SYSTEM_ORG, {"session_id": str(session_id)})


def _session(call: Call, tx: Transaction, operator_id: UUID, proof: str | OperatorIdentity, by: str) -> str:
    if isinstance(proof, str):
        secret = operators.begin_session(tx, operator_id, proof)
    else:
        secret = operators.begin_session_by_account(tx, operator_id, proof)
    if secret is None:
        raise Gone("the operator was deactivated, or has another password or account")
    call.audit(tx, SYSTEM_ORG, {"operator_id": str(operator_id), "by": by}, event="operator.signed_in")
    return secret

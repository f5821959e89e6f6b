"""Safety policies: when a person is asked before an action, in a mailbox or in all of an org's."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Gone
from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.triage.safety_policy import PolicyDocument
from operations.call import Call
from operations.mail.accounts import target_of, target_to_write
from operations.mail.mailboxes import NONE
from operations.operation import Area, Record, Route, changes_of
from storage.mail.rules import owner_settings, safety

SAFETY = Area(
    "safety", "Say when a person is asked before an action. Of a mailbox's policy and its org's, the stricter holds."
)
OF_ACCOUNT = ("account_id",)
OfAccount = Annotated[UUID | None, Field(description="The mailbox; without it, all of the org's.")]


class PolicyView(Record, PolicyDocument):
    """When a person is asked before an action. Dangerous actions wait for a person whatever it says."""

    account_id: UUID | None = Field(description="The mailbox it is for; null for all of the org's.")
    saved: bool = Field(description="Whether somebody has saved it; else it is the default.")


class RemovedPolicy(Record):
    """A policy that holds no more."""

    account_id: UUID | None
    removed: bool = True


@SAFETY.look("show", Route("GET", "/safety"), org="optional")
def read_safety(call: Call, *, account_id: OfAccount = None) -> PolicyView:
    """Show the policy of a mailbox or of an org as it was saved; what holds for a mailbox is among its settings."""
    with call.reading() as tx:
        saved = safety.listed(tx, target_of(tx, account_id, call.org_id).org_id)
    own = next((one for one in saved if one.account_id == account_id), None)
    policy = PolicyDocument() if own is None else PolicyDocument.model_validate(own.document())
    return _view(policy, account_id, saved=own is not None)


@SAFETY.deed("set", Route("PATCH", "/safety", query=OF_ACCOUNT), org="optional", events=("safety.set",))
def change_safety(
    call: Call,
    *,
    account_id: OfAccount = None,
    confidence_floor: Annotated[
        float | None, Field(description="A decision less sure than this waits for a person: 0 to 1.")
    ] = None,
    always_approve: Annotated[
        list[str] | None,
        Field(
            max_length=len(ActionKind),
            description="Actions that wait every time, in the place of those before; `none` for none.",
        ),
    ] = None,
    approve_from: Annotated[
        Danger | None, Field(description="Actions of this danger or more wait; dangerous ones wait in any case.")
    ] = None,
) -> PolicyView:
    """Change when a person is asked before an action, in a mailbox or in all of the org's; what is left out stays."""
    always = None if always_approve is None else [one for one in always_approve if one != NONE]
    changes = changes_of(confidence_floor=confidence_floor, always_approve=always, approve_from=approve_from)
    with call.writing() as tx:
        org_id = target_to_write(tx, account_id, call.org_id).org_id
        policy = owner_settings.change_policy(tx, org_id, account_id, changes, by=call.origin.actor_id)
        call.audit(tx, org_id, {"account_id": account_id and str(account_id), **policy.model_dump(mode="json")})
    return _view(policy, account_id, saved=True)


@SAFETY.deed("remove", Route("DELETE", "/safety", query=OF_ACCOUNT), org="optional", events=("safety.removed",))
def remove_safety(call: Call, *, account_id: OfAccount = None) -> RemovedPolicy:
    """Remove the policy of a mailbox or of an org: the org's holds, or the default."""
    with call.writing() as tx:
        org_id = target_to_write(tx, account_id, call.org_id).org_id
        if not safety.remove(tx, org_id, account_id):
            raise Gone("there is no such policy")
        call.audit(tx, org_id, {"account_id": account_id and str(account_id)})
    return RemovedPolicy(account_id=account_id)


def _view(policy: PolicyDocument, account_id: UUID | None, *, saved: bool) -> PolicyView:
    return PolicyView(account_id=account_id, saved=saved, **policy.model_dump())

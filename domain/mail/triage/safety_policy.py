"""The safety policy as data: its fields, and the policy that holds where both a mailbox and its org have one."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.invalid_fields import invalid_from
from domain.mail.triage.safety import SafetyPolicy, danger_rank

DEFAULT_POLICY = SafetyPolicy()


class PolicyDocument(BaseModel):
    """When a person is asked before an action. Dangerous actions wait for a person whatever it says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    confidence_floor: Annotated[
        float, Field(ge=0, le=1, allow_inf_nan=False, description="A decision less sure than this waits.")
    ] = DEFAULT_POLICY.confidence_floor
    always_approve: Annotated[
        list[ActionKind], Field(max_length=len(ActionKind), description="Actions that wait every time.")
    ] = Field(default_factory=list)
    approve_from: Annotated[
        Danger, Field(description="Actions of this danger or more wait; dangerous ones wait whatever is said here.")
    ] = DEFAULT_POLICY.approve_from

    def policy(self) -> SafetyPolicy:
        """As the enforcer takes it."""
        return SafetyPolicy(self.confidence_floor, frozenset(self.always_approve), self.approve_from)


def parse_policy(data: object) -> PolicyDocument:
    """A policy from JSON-like data; raises `Invalid(field, reason)`."""
    try:
        return PolicyDocument.model_validate(data)
    except ValidationError as error:
        raise invalid_from(error, "safety") from error


def effective_policy(account: SafetyPolicy | None, org: SafetyPolicy | None) -> SafetyPolicy:
    """The policy that holds for a mailbox: the stricter part of each where the org has one, too.

    An org's policy binds its mailboxes.
    """
    if account is None or org is None:
        return account or org or DEFAULT_POLICY
    return SafetyPolicy(
        confidence_floor=max(account.confidence_floor, org.confidence_floor),
        always_approve=account.always_approve | org.always_approve,
        approve_from=min(account.approve_from, org.approve_from, key=danger_rank),
    )

"""One call of an operation: who makes it, for which org, and how it reads, writes, audits and enqueues."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, Unpack
from uuid import UUID

from domain.jobs.failures import Forbidden, Gone, Invalid
from domain.jobs.job import SYSTEM_ORG, ActorType, Enqueued, JsonObject, Origin
from domain.orgs.access.api_keys import Role
from domain.orgs.access.operators import SEES_VALUES, OperatorRights, OperatorRole
from domain.payloads.payload import JobOptions, Payload
from operations.repeated_requests import KeyedRequest
from settings import Settings
from storage.jobs.audit_log import deeds
from storage.mail.actions.actions import Enqueue
from storage.postgres.database import Database, Transaction

LOOKED = "operator.looked"
"""What the audit log keeps of each look at values in the console."""


class OfOrg(Protocol):
    """A thing that belongs to an org."""

    @property
    def org_id(self) -> UUID:
        """Which."""
        ...


Thing = TypeVar("Thing", bound=OfOrg)


class EnqueueFor(Protocol):
    """Enqueues payloads for an org in the caller's transaction: the engine's at a terminal, the gateway's by HTTP."""

    def __call__(
        self, tx: Transaction, *payloads: Payload, org_id: UUID, origin: Origin, **options: Unpack[JobOptions]
    ) -> Sequence[Enqueued]:
        """A job per payload."""
        ...


@dataclass(slots=True, kw_only=True)
class Call:
    """Who calls an operation, and by what means.

    `org_id` is the org that the caller acts for; an operator at a terminal who names none may see all orgs. `within`
    is a transaction that the caller has begun; without it, the operation begins its own.
    """

    origin: Origin
    name: str
    """The caller in the words of the records that name one, such as who approved an action."""
    role: Role
    rights: OperatorRights | None = None
    """Of an operator in the console; None for an API key, and at a terminal, where everything may be done."""
    database: Database
    written_by: Database | None = None
    """By whose connections it writes, where it reads by some that only read."""
    settings: Settings
    enqueue: EnqueueFor
    org_id: UUID | None = None
    keyed: KeyedRequest | None = None
    within: Transaction | None = None
    remove_files: Callable[[Sequence[str]], object] | None = None
    """Removes what lies at places of the store of artifacts; a caller by HTTP has no operation that needs it."""
    events: tuple[str, ...] = ()
    """What the deed that is called may write into the audit log."""
    of_org: bool = True
    """Whether the operation reads what an org may see; an operation for operators reads all tables."""
    is_audited: bool = False
    is_replayed: bool = False
    """Whether the same request had been made before."""
    shows_values: bool = False
    """Whether an operator of the console asks for values that belong to customers, and not for their shapes."""

    def begin(
        self,
        role: Role,
        events: tuple[str, ...],
        *,
        is_audited: bool,
        of_org: bool,
        least: OperatorRole = OperatorRole.VIEWER,
        is_of_fleet: bool = False,
    ) -> None:
        """Begin an operation; raises `Forbidden` for a caller whose role does not include the one that is needed.

        `least` is the role that it takes of an operator, and `is_of_fleet` whether it names no org.
        """
        if self.rights is not None:
            self.rights.check(least, is_of_fleet=is_of_fleet)
            # The database refuses a scoped operator what is not of the org, in operations that are for operators, too.
            of_org = of_org or self.rights.org_ids is not None
            if events:
                self.check_deed(least)
        if not self.role.includes(role):
            raise Forbidden(f"a key of the role {self.role.value} may not do this; it takes the role {role.value}")
        self.events, self.is_audited, self.is_replayed, self.of_org = events, is_audited, False, of_org

    def check_deed(self, needed: OperatorRole) -> None:
        """Raise `Forbidden` for an operator of a lesser role; what takes an admin takes the password once more, too."""
        if self.rights is not None:
            self.rights.check(needed)
            if needed is OperatorRole.ADMIN:
                self.check_proof()

    def check_proof(self) -> None:
        """Raise `NotProven` for an operator who has to give the password once more: for a deed of many at once."""
        if self.rights is not None:
            self.rights.check_proof()

    def check_look(self) -> None:
        """Raise `Forbidden` for an operator who asks for values and may not see them, or has to prove who it is."""
        if self.rights is not None and self.shows_values:
            self.rights.check(SEES_VALUES)
            self.check_proof()

    def audit_look(self, org_id: UUID | None, data: JsonObject) -> None:
        """Write that an operator looked at values of an org, or of the caller's; of none, it is the fleet's."""
        self.events, self.is_audited = (LOOKED,), False
        with self.writing() as tx:
            self.audit(tx, org_id or self.org_id or SYSTEM_ORG, data)

    @property
    def is_of_fleet(self) -> bool:
        """Whether the caller operates the fleet, and no org of it: neither a key nor an operator of some orgs."""
        return self.origin.actor_type is not ActorType.API_KEY and (self.rights is None or self.rights.org_ids is None)

    @property
    def org(self) -> UUID:
        """The org that the caller acts for; raises `Invalid` where an operator has named none."""
        if self.org_id is None:
            raise Invalid("org", "must be named")
        return self.org_id

    def found(self, thing: Thing | None, what: str) -> Thing:
        """The thing that was looked for; raises `Gone` where there is none, and alike where it is another org's."""
        if thing is None or self.org_id not in {None, thing.org_id}:
            raise Gone(f"there is no {what}")
        return thing

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that only reads: the tenant's; the ledger's for an operator of no org, or of the fleet."""
        if self.within is not None:
            return nullcontext(self.within)
        return self.database.looking(self.org_id if self.of_org else None)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction of the ledger's to write in; without an audit event it raises, and nothing is written."""
        with nullcontext(self.within) if self.within is not None else (self.written_by or self.database).ledger() as tx:
            yield tx
            if not (self.is_audited or self.is_replayed):
                raise RuntimeError(f"the deed has written none of {', '.join(self.events)} into the audit log")

    def audit(
        self,
        tx: Transaction,
        org_id: UUID,
        data: JsonObject,
        *,
        event: str = "",
        project_id: UUID | None = None,
        job: tuple[UUID, str] | None = None,
    ) -> None:
        """Write the deed's event, with what the caller did; a deed with several events says which.

        What is about a project names it: jobs of other projects do not see the event.
        """
        (chosen,) = [one for one in self.events if event in {"", one}]
        deeds.record(tx, chosen, data, by=self.origin, org_id=org_id, project_id=project_id, job=job)
        self.is_audited = True

    def once(self, tx: Transaction, make: Callable[[], Sequence[UUID]]) -> Sequence[UUID]:
        """The ids of what the call makes, or of what the same request with the same `Idempotency-Key` made before.

        A key of a request for no org is the system org's.
        """
        org_id = self.org_id or SYSTEM_ORG
        earlier = None if self.keyed is None else self.keyed.earlier(tx, org_id)
        if earlier is not None:
            self.is_replayed = True
            return earlier.made
        made = make()
        if self.keyed is not None:
            self.keyed.keep(tx, org_id, made)
        return made

    def enqueue_for(self, org_id: UUID) -> Enqueue:
        """Enqueues for an org in the caller's name."""
        return partial(self.enqueue, org_id=org_id, origin=self.origin)

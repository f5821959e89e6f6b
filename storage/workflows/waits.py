"""What runs wait for: events that are sent to them, and decisions of people."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import AwareDatetime

from domain.jobs.failures import Conflict, Forbidden, Invalid
from domain.jobs.job import JsonObject
from domain.workflows.advance import DENIED, RunState
from domain.workflows.joins import NodeState
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.workflows import runs

MOST_KEPT = 500
"""Events of a run that no wait has taken."""


class ApprovalPosition(NamedTuple):
    """The same of nodes that ask."""

    started_at: AwareDatetime
    approval_id: UUID


@dataclass(frozen=True, slots=True)
class AskingNode:
    """A node about which a person is, or was, asked."""

    approval_id: UUID
    org_id: UUID
    run_id: UUID
    project_id: UUID | None
    workflow: str
    node: str
    item: int
    state: NodeState
    question: str
    show: object
    roles: Sequence[str] | None
    """Who may decide; None: who may decide about actions."""
    started_at: datetime
    """When the person was asked."""
    wait_until: datetime
    finished_at: datetime | None
    error: JsonObject | None
    decided_by: str | None
    decided_at: datetime | None
    decision_reason: str | None


def send_event(tx: Transaction, run_id: UUID, name: str, payload: object, *, by: str) -> UUID:
    """Keep an event for the wait of that name, and have the run go on; returns its id. As the ledger role only.

    Raises `Gone` where there is no such run, `Invalid` for a name that no node of it waits for, `Conflict` for a run or
    a wait that is over, and `Forbidden` above the number of events that a run keeps.
    """
    tx.run("lock_events_of_run", run_id=run_id)
    found = tx.one("state_of_event", "there is no such run", run_id=run_id, name=name, most=MOST_KEPT)
    if not found.is_known:
        raise Invalid("name", "is no event that a node of the run waits for")
    if found.state != RunState.RUNNING:
        raise Conflict(f"run_id: the run has ended: {found.state}")
    if not found.is_open:
        raise Conflict("name: the wait for this event is over")
    if found.kept >= MOST_KEPT:
        raise Forbidden(f"a run keeps at most {MOST_KEPT} events that no wait has taken")
    made = tx.run("keep_event", org_id=found.org_id, run_id=run_id, name=name, payload=Jsonb(payload), sent_by=by)
    runs.go_on(tx, run_id)
    return UUID(str(made[0].event_id))


def decide(tx: Transaction, approval_id: UUID, *, approve: bool, by: str, reason: str | None) -> bool:
    """Write a person's decision, and have the run go on; false where the node waits no more.

    As the ledger role only.
    """
    rows = tx.run("decide_node", approval_id=approval_id, approve=approve, by=by, reason=reason, denied=DENIED)
    if rows:
        runs.go_on(tx, rows[0].run_id)
    return bool(rows)


def approval(tx: Transaction, approval_id: UUID) -> AskingNode | None:
    """The node about which a person is, or was, asked under that id; None when it was put back since."""
    return tx.first("get_asking_node", _asking, approval_id=approval_id)


def waiting_approvals(
    tx: Transaction, org_id: UUID, *, after: ApprovalPosition | None = None, limit: int
) -> Sequence[AskingNode]:
    """Nodes of an org about which a person is asked, the newest first."""
    rows = tx.run(
        "list_asking_nodes",
        org_id=org_id,
        last_at=after and after.started_at,
        last_id=after and after.approval_id,
        limit=limit,
    )
    return [_asking(row) for row in rows]


def _asking(row: Row) -> AskingNode:
    return AskingNode(**row._asdict() | {"state": NodeState(row.state)})

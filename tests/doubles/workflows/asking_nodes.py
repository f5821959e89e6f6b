"""Runs of workflows whose node waits for a person, as an advance leaves them."""

import hashlib
import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from domain.jobs.job import Origin
from domain.workflows.definition import definition_of
from storage.postgres.database import Database
from storage.workflows import definitions, runs
from storage.workflows.runs import NewRun

BRIEF: dict[str, Any] = {"name": "morning-brief", "nodes": {"approve": {"wait": {"approval": "Send the brief?"}}}}
ASK = """
update workflow_nodes set
  state = 'waiting', approval_id = uuidv7(), started_at = now(), wait_until = now() + %(lasts)s, roles = %(roles)s,
  input = jsonb_build_object('question', %(question)s::text, 'show', %(show)s::jsonb)
where run_id = %(run_id)s and node = %(node)s
returning approval_id
"""


def save_workflow(store: Database, org_id: UUID, document: dict[str, Any]) -> int:
    """Save a definition that is known to be good; returns its version."""
    with store.ledger() as tx:
        digest = hashlib.sha256(json.dumps(document).encode()).digest()
        return definitions.save(tx, org_id, document, digest, by="a test").version


def begin_run(store: Database, org_id: UUID, document: dict[str, Any] = BRIEF, **given: Any) -> UUID:  # noqa: ANN401 - a run's input
    """A run of a definition, of which no node has begun."""
    run_id, version = uuid4(), save_workflow(store, org_id, document)
    with store.ledger() as tx:
        runs.begin(tx, NewRun(run_id, org_id, None, version, given), definition_of(document), by=Origin())
    return run_id


def ask_person(
    store: Database,
    run_id: UUID,
    *,
    show: object = None,
    lasts: timedelta = timedelta(days=3),
    roles: list[str] | None = None,
    node: str = "approve",
) -> UUID:
    """Let the node of a run wait for a person; returns the id of the approval."""
    given = {"question": "Send the brief?", "show": json.dumps(show), "lasts": lasts, "roles": roles}
    with store.ledger() as tx:
        (row,) = tx.raw(ASK, {"run_id": run_id, "node": node, **given})
    return UUID(str(row.approval_id))


def asking_node(store: Database, org_id: UUID, **given: Any) -> UUID:  # noqa: ANN401 - as `ask_person` takes it
    """A new run whose node waits for a person; returns the id of the approval."""
    return ask_person(store, begin_run(store, org_id), **given)


def node_state(store: Database, approval_id: UUID) -> tuple[str, str | None]:
    """The state of the node that asked, and the code of its failure."""
    with store.ledger() as tx:
        query = "select state, error ->> 'code' as code from workflow_nodes where approval_id = %(id)s"
        (row,) = tx.raw(query, {"id": approval_id})
    return row.state, row.code

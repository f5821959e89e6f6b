"""The next round of a run: which nodes begin anew, and which go on where they stand."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from domain.workflows.definition import Definition, EventWait, Node
from domain.workflows.resume import Redo, ResumePlan
from storage.postgres.arrays import Array, array, column, json_array
from storage.postgres.database import Transaction


def begin(
    tx: Transaction, run_id: UUID, next_round: int, plan: ResumePlan, before: Definition, now: Definition
) -> Sequence[str]:
    """Put the nodes of an ended run back as its plan says; returns those that have no row.

    `before` and `now` are the definitions of the last round and of the next one. Where they have a node otherwise, what
    it was given is evaluated anew; its list of items is not.
    """
    changed = {name for name in plan.again if before.nodes.get(name) != now.nodes[name]}
    anew = {name for name, redo in plan.again.items() if redo is Redo.ANEW}
    mended, dependants = plan.again.keys() - anew, now.dependants
    tx.run("forget_nodes", run_id=run_id, dropped=sorted(plan.dropped), anew=sorted(anew))
    reset = tx.run(
        "reset_nodes",
        run_id=run_id,
        round=next_round,
        nodes=array(sorted(anew)),
        pending=array(plan.pending[name] for name in sorted(anew)),
        dependants=json_array(dependants[name] for name in sorted(anew)),
        wait_names=_wait_names(now.nodes, sorted(anew)),
    )
    went_on = tx.run(
        "mend_nodes",
        run_id=run_id,
        round=next_round,
        nodes=array(sorted(mended)),
        changed=array(name in changed for name in sorted(mended)),
        dependants=json_array(dependants[name] for name in sorted(mended)),
        wait_names=_wait_names(now.nodes, sorted(mended)),
    )
    tx.run("keep_cost_of_gone_nodes", run_id=run_id)
    return sorted(plan.again.keys() - {row.node for row in (*reset, *went_on)})


def _wait_names(nodes: Mapping[str, Node], names: Sequence[str]) -> Array:
    works = (nodes[name].work for name in names)
    return column(work.event if isinstance(work, EventWait) else None for work in works)

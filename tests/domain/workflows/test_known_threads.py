"""What went wrong in other engines, played through the rules in many interleavings (tests/workflows/known)."""

from random import Random
from typing import Any

import pytest

from domain.documents.faults import RefusedDocument
from domain.payloads.payload import Payload
from domain.payloads.registry import Registry
from domain.workflows.advance import DENIED, TIMEOUT, Ask, AwaitEvent, Begin, NodeError, RunEnd, RunState, Turn
from domain.workflows.definition import Definition, WorkflowWork
from domain.workflows.faults import check
from tests.domain.workflows.simulated_run import SimulatedRun
from tests.workflows.known_threads import Round, Thread, names, thread

TYPES: Registry[type[Payload]] = Registry()


class Echo(Payload, job_type="workflow_jobs.echo", registry=TYPES):
    """What the job returns; it fails where its word is broken."""

    value: Any = None
    word: str = ""


class Player:
    """A run of a thread's workflow, with the runs inside it."""

    def __init__(self, told: Thread, chance: Random) -> None:
        self._told, self._chance = told, chance
        self._known: dict[str, Definition] = {}
        for document in (*told.others, told.workflow):
            self._known[document["name"]] = check(document, self._known.get, TYPES).definition
        self._children: dict[tuple[int, str, int], SimulatedRun] = {}
        self.run = SimulatedRun(self._known[told.workflow["name"]], told.input, chance)

    def play(self, what: Round, *, is_first: bool) -> RunEnd:
        """The next round of the run."""
        if not is_first:
            newer = None if what.newer is None else check(what.newer, self._known.get, TYPES).definition
            _, refused = self.run.resume(newer)
            assert refused is None
        return self._play(self.run, what)

    def _play(self, run: SimulatedRun, what: Round) -> RunEnd:
        events = list(what.events)

        def work(name: str, item: int, begin: Turn) -> Any:  # noqa: ANN401 - JSON
            node = run.definition.nodes[name]
            match begin:
                case Begin(given) if isinstance(node.work, WorkflowWork):
                    return self._child(run, name, item, given, what)
                case Begin(given):
                    payload = Echo(**given)
                    return NodeError("broken", "is broken") if payload.word in what.broken else payload.document()
                case AwaitEvent(event):
                    taken = next((one for one in events if one[0] == event), None)
                    if taken is not None:
                        events.remove(taken)
                    return NodeError(TIMEOUT, "nobody sent it") if taken is None else taken[1]
                case Ask() if what.waits[name] != "approved":
                    return NodeError(TIMEOUT if what.waits[name] == "timeout" else DENIED, what.waits[name])
            return {"approved": True}

        return run.play(work)

    def _child(self, run: SimulatedRun, name: str, item: int, given: Any, what: Round) -> Any:  # noqa: ANN401 - JSON
        key = (id(run), name, item)
        child = None if name in run.renewed else self._children.get(key)
        if child is None:
            node = run.definition.nodes[name].work
            assert isinstance(node, WorkflowWork)
            child = self._children[key] = SimulatedRun(self._known[node.name], given, self._chance)
        else:
            child.resume()
        end = self._play(child, what)
        return NodeError(end.failure.code, end.failure.reason) if end.failure is not None else end.output


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", names())
def test_what_went_wrong_elsewhere_goes_right(name: str, seed: int) -> None:
    told = thread(name)
    if told.faults:
        with pytest.raises(RefusedDocument) as refused:
            check(told.workflow, lambda _name: None, TYPES)
        assert [fault.pointer for fault in refused.value.faults] == told.faults
        return
    player = Player(told, Random(seed))  # noqa: S311 - an order of moves, no secret
    for number, what in enumerate(told.rounds):
        end = player.play(what, is_first=number == 0)
        ends = player.run.ends()
        assert {node: one.skipped_because or one.state for node, one in ends.items()} == what.nodes
        assert (end.state, end.output) == (RunState(what.state), what.output)
        assert what.code is None or (end.failure is not None and end.failure.code == what.code)
        assert {node: player.run.rows[node].rounds for node in what.begun} == what.begun

"""Runs in any interleaving of short advances come to what the reference says."""

from collections.abc import Mapping
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from domain.workflows.advance import NodeEnd, NodeError, RunState, RunStop, unhandled
from domain.workflows.joins import NodeState
from tests.domain.workflows.random_definitions import Script, scripts
from tests.domain.workflows.reference import Ended, interpret, is_handled
from tests.domain.workflows.simulated_run import SimulatedRun, Work

chances = st.integers(0, 2**32).map(Random)


def as_told(ends: dict[str, NodeEnd]) -> dict[str, Ended]:
    return {name: Ended(end.state, end.skipped_because) for name, end in ends.items()}


def work(outcomes: Mapping[str, list[bool]]) -> Work:
    """Work that ends as the outcomes say."""

    def end(name: str, item: int, _begin: object) -> Any:  # noqa: ANN401 - JSON
        return "well" if outcomes[name][max(item, 0)] else NodeError("broken", "is broken")

    return end


def check(run: SimulatedRun, script: Script, kept: dict[str, Ended]) -> None:
    """The run has ended as the reference says."""
    expected = interpret(run.definition, script.gives, script.outcomes, kept)
    assert as_told(run.ends()) == expected
    failed = [name for name, end in expected.items() if end.state == "failed"]
    left = [name for name in failed if not is_handled(run.definition, expected, name)]
    assert sorted(unhandled(run.definition, run.ends())) == sorted(left)
    assert run.end is not None
    assert run.end.state is (RunState.FAILED if left else RunState.SUCCEEDED)


@given(scripts(), chances)
def test_any_interleaving_comes_to_the_same(script: Script, chance: Random) -> None:
    run = SimulatedRun(script.definition, script.input, chance)
    run.play(work(script.outcomes))
    check(run, script, {})
    assert all(len(row.rounds) <= 1 for row in run.rows.values())


@given(scripts(), chances, st.data())
def test_a_resume_does_what_failed_and_all_after_it_again(script: Script, chance: Random, data: st.DataObject) -> None:
    run = SimulatedRun(script.definition, script.input, chance)
    run.play(work(script.outcomes))
    before = run.ends()
    broken = unhandled(run.definition, before)
    good_items = {
        (name, i)
        for name, row in run.rows.items()
        for i, item in enumerate(row.items or ())
        if item.state is NodeState.SUCCEEDED
    }
    kept, refused = run.resume()
    assert refused is None
    assert not kept.keys() & set(broken)
    assert all(set(run.definition.nodes[name].needs) <= kept.keys() for name in kept)
    mended = {
        name: [data.draw(st.booleans()) or ((name, i) in good_items and name in broken) for i in range(len(ends))]
        for name, ends in script.outcomes.items()
    }
    run.play(work(mended))
    assert {name: run.ends()[name] for name in kept} == {name: before[name] for name in kept}
    check(run, Script(run.definition, script.input, script.gives, mended), as_told(kept))


@given(scripts(), chances, st.sampled_from(RunStop), st.integers(0, 20))
def test_a_run_that_is_stopped_ends_and_can_be_resumed(
    script: Script, chance: Random, stop: RunStop, moves: int
) -> None:
    run = SimulatedRun(script.definition, script.input, chance)
    run.move(work(script.outcomes), moves)
    run.cancel(stop)
    run.play(work({}))
    assert run.end is not None
    canceled = [name for name, end in run.ends().items() if end.state is NodeState.CANCELED]
    if canceled:
        assert run.end.state is (RunState.CANCELED if stop is RunStop.CANCELED else RunState.FAILED)
    kept, _ = run.resume()
    run.play(work(script.outcomes))
    assert not kept.keys() & set(canceled)
    check(run, script, as_told(kept))

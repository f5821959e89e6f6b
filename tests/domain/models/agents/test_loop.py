"""The loop's policy: every call is answered, no limit is passed, and every run ends."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.models.agents.loop import (
    MOST_CALLS,
    AskModel,
    Finish,
    GoOn,
    NextStep,
    RunLimit,
    RunStatus,
    RunTools,
    RunUsage,
    StopReason,
    affords,
    next_step,
)
from domain.models.agents.profile import RunLimits
from domain.models.agents.transcript import (
    ModelTurn,
    ToolCall,
    ToolResult,
    TurnAnswer,
    cost_of,
    read_answer,
    read_result,
    result_document,
)

LIMITS = RunLimits(turns=6, microcents=1_000, seconds=60)
STOPS = [stop.value for stop in StopReason]
TEXT = ({"type": "text", "text": "Done."},)


def call(call_id: str = "toolu_1", name: str = "archive") -> ToolCall:
    return ToolCall(call_id, name, {})


def answer(stop: str, *calls: ToolCall, cost: int = 10, said: bool = True) -> TurnAnswer:
    return TurnAnswer(stop, TEXT if said else (), "Done." if said else "", calls, cost)


def result(of: ToolCall, **facts: object) -> ToolResult:
    return ToolResult(of.call_id, "ok", **facts)  # type: ignore[arg-type]  # fields of a result


def step(*turns: ModelTurn, seconds: float = 0, answered: int = 0, limits: RunLimits = LIMITS) -> NextStep:
    return next_step(turns, limits, RunUsage(seconds, answered))


@st.composite
def answers(draw: st.DrawFn) -> list[TurnAnswer]:
    """What a model may say in a run, sensible or not."""
    said: list[TurnAnswer] = []
    for place in range(draw(st.integers(1, 12))):
        ids = draw(st.lists(st.sampled_from([f"toolu_{place}_{n}" for n in range(10)]), max_size=10, unique=True))
        stop = draw(st.sampled_from([*STOPS, "stop_sequence", "", "a new reason"]))
        said.append(
            answer(stop, *map(call, ids), cost=draw(st.integers(0, 400)), said=draw(st.booleans()) or bool(ids))
        )
    return said


def held(said: list[TurnAnswer], limits: RunLimits = LIMITS) -> tuple[list[ModelTurn], Finish, list[ToolCall]]:
    """Hold a conversation in which the model says these answers; returns the turns, the end, and the calls made."""
    turns: list[ModelTurn] = []
    made: list[ToolCall] = []
    for _ in range(1_000):
        match next_step(turns, limits, RunUsage()):
            case Finish() as finish:
                return turns, finish, made
            case AskModel(number=number):
                assert number == len(turns) + 1
                if number > len(said):
                    return turns, Finish(RunStatus.SUCCEEDED, "the script is over"), made
                turns.append(ModelTurn(said[number - 1]))
            case GoOn(note=note):
                turns[-1] = ModelTurn(turns[-1].answer, turns[-1].results, note)
            case RunTools(calls=calls, refused=refused):
                made += calls
                told = tuple(result(one) for one in (*calls, *refused))
                turns[-1] = ModelTurn(turns[-1].answer, turns[-1].results + told, turns[-1].note)
    raise AssertionError("the run does not end")


@given(answers())
def test_every_run_ends_within_its_turns_and_answers_every_call_it_goes_on_from(said: list[TurnAnswer]) -> None:
    turns, finish, made = held(said)
    assert len(turns) <= LIMITS.turns
    assert finish.status is not RunStatus.RUNNING
    assert (finish.status is RunStatus.STOPPED) == (finish.limit is not None)
    for turn in turns[:-1]:
        assert turn.pending == (), "the vendor refuses a conversation with a call that nobody answered"
        assert turn.results or turn.note
    assert len({one.call_id for one in made}) == len(made), "no call is made twice"


@given(answers())
def test_money_that_is_spent_ends_the_run_before_the_next_call(said: list[TurnAnswer]) -> None:
    turns, _, _ = held(said)
    assert cost_of(turns[:-1]) < LIMITS.microcents


@given(answers())
def test_only_a_whole_answer_makes_calls(said: list[TurnAnswer]) -> None:
    turns, _, made = held(said)
    whole = [one for turn in turns if turn.answer.stop_reason == StopReason.TOOL_USE for one in turn.answer.calls]
    assert set(map(id, made)) <= set(map(id, whole))


@given(answers(), st.integers(0, 12))
def test_answers_that_were_paid_for_are_taken_up_whatever_the_limits_say(said: list[TurnAnswer], answered: int) -> None:
    tight = RunLimits(turns=1, microcents=1, seconds=10)
    turns = tuple(ModelTurn(one, tuple(map(result, one.calls)), "" if one.calls else "on") for one in said[:answered])
    found = next_step(turns, tight, RunUsage(seconds=10_000, answered=answered + 1))
    ended = turns and next_step(turns[-1:], LIMITS, RunUsage())
    if not turns or isinstance(ended, AskModel):
        assert found == AskModel(len(turns) + 1)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((), AskModel(1)),
        ((ModelTurn(answer("end_turn")),), RunStatus.SUCCEEDED),
        ((ModelTurn(answer("end_turn", said=False)),), RunStatus.FAILED),
        ((ModelTurn(TurnAnswer("end_turn", ({"type": "thinking", "thinking": "hm"},))),), RunStatus.FAILED),
        ((ModelTurn(replace(answer("end_turn"), text=" \n")),), RunStatus.FAILED),
        ((ModelTurn(answer("refusal", said=False)),), RunStatus.FAILED),
        ((ModelTurn(answer("tool_use")),), RunStatus.FAILED),
        ((ModelTurn(answer("stop_sequence")),), RunStatus.FAILED),
        ((ModelTurn(answer("max_tokens", said=False)),), RunStatus.FAILED),
        ((ModelTurn(answer("model_context_window_exceeded")),), RunLimit.CONTEXT),
        ((ModelTurn(answer("tool_use", call("odd id!"))),), RunStatus.FAILED),
        ((ModelTurn(answer("tool_use", call(), call())),), RunStatus.FAILED),
        (
            (ModelTurn(answer("tool_use", call()), (result(call()),)), ModelTurn(answer("tool_use", call()))),
            RunStatus.FAILED,
        ),
        ((ModelTurn(answer("tool_use", call()), (result(call(), ends_run=True),)),), RunStatus.ESCALATED),
        ((ModelTurn(answer("tool_use", call()), (result(call()),)),), AskModel(2)),
        ((ModelTurn(answer("tool_use", call(), cost=1_000), (result(call()),)),), RunLimit.MONEY),
    ],
)
def test_what_comes_next(turns: tuple[ModelTurn, ...], expected: object) -> None:
    found = step(*turns)
    assert expected in {found if isinstance(found, AskModel) else None, *ends(found)}


def ends(found: NextStep) -> set[object]:
    return {found.status, found.limit} if isinstance(found, Finish) else set()


def test_time_is_looked_at_before_a_call_and_never_after_an_answer() -> None:
    assert RunLimit.TIME in ends(step(seconds=60))
    assert step(ModelTurn(answer("end_turn")), seconds=1_000) == Finish(RunStatus.SUCCEEDED, "the agent is done")
    assert step(ModelTurn(answer("tool_use", call())), seconds=1_000) == RunTools(
        (call(),), (), "more than 8 calls at once"
    )


def test_a_cut_answer_is_answered_and_its_calls_are_not_made() -> None:
    cut = ModelTurn(answer("max_tokens", call()))
    found = step(cut)
    assert isinstance(found, RunTools)
    assert (found.calls, found.refused) == ((), (call(),))
    assert isinstance(step(ModelTurn(answer("pause_turn"))), GoOn)
    assert step(ModelTurn(answer("max_tokens"), note="Go on.")) == AskModel(2)


def test_too_many_calls_at_once_are_refused_past_the_bound() -> None:
    calls = [call(f"toolu_{n}") for n in range(MOST_CALLS + 2)]
    found = step(ModelTurn(answer("tool_use", *calls)))
    assert isinstance(found, RunTools)
    assert (len(found.calls), len(found.refused)) == (MOST_CALLS, 2)


def test_a_run_affords_what_it_has_left() -> None:
    spent = (ModelTurn(answer("end_turn", cost=900)),)
    assert affords(spent, LIMITS, 100)
    assert not affords(spent, LIMITS, 101)


def test_what_is_kept_is_read_as_it_was() -> None:
    kept = {
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "archive", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "archive", "input": "no object"},
        ],
        "stop_reason": "tool_use",
        "cost": 7,
    }
    found = read_answer(kept)
    assert (found.text, found.cost_microcents, found.stop_reason) == ("I look.", 7, "tool_use")
    assert found.calls == (ToolCall("toolu_1", "archive", {}), ToolCall("toolu_2", "archive", None))
    one = ToolResult("toolu_1", "text", is_error=True, found=("t1",), shown=("m1",), wanted={"kind": "archive"})
    assert read_result(result_document(one)) == one

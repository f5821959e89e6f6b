"""The table of an action's moves."""

from hypothesis import given
from hypothesis import strategies as st

from domain.mail.actions.status import MAY_BEGIN, MOVES, ActionStatus, status_after_end

FINAL = {ActionStatus.DENIED, ActionStatus.EXPIRED, ActionStatus.UNDONE, ActionStatus.CANCELED}
ENDED = FINAL | {ActionStatus.DONE, ActionStatus.FAILED}
"""No job of the action is at work or to come."""
ENDS = st.tuples(
    st.sampled_from(["succeeded", "failed", "dead", "canceled"]), st.none() | st.sampled_from(["expired", "a person"])
)


@given(st.lists(st.sampled_from(ActionStatus), max_size=12))
def test_no_walk_leaves_a_final_status_or_executes_what_was_not_released(wishes: list[ActionStatus]) -> None:
    for start in (ActionStatus.QUEUED, ActionStatus.APPROVED_PENDING):
        walk = [start]
        for wish in wishes:
            if (walk[-1], wish) in MOVES:
                assert walk[-1] not in FINAL
                walk.append(wish)
        if start is ActionStatus.APPROVED_PENDING and ActionStatus.EXECUTING in walk:
            assert walk[1] is ActionStatus.APPROVED
        if ActionStatus.UNDONE in walk:
            assert walk[-2:] == [ActionStatus.DONE, ActionStatus.UNDONE]


def test_every_status_is_reached_and_every_unfinished_one_can_end() -> None:
    reached = {after for _, after in MOVES} | {ActionStatus.QUEUED, ActionStatus.APPROVED_PENDING}
    assert reached == set(ActionStatus)
    for status in set(ActionStatus) - ENDED:
        assert {after for before, after in MOVES if before is status} & ENDED
    assert {ActionStatus.QUEUED, ActionStatus.APPROVED, ActionStatus.FAILED} == MAY_BEGIN


@given(st.sampled_from(ActionStatus), ENDS, st.booleans())
def test_no_action_stays_at_work_when_its_job_has_ended(
    before: ActionStatus, end: tuple[str, str | None], is_undo: bool
) -> None:
    after = status_after_end(before, *end, is_undo=is_undo)
    assert after is before or (before, after) in MOVES
    assert after not in {ActionStatus.QUEUED, ActionStatus.APPROVED, ActionStatus.EXECUTING}

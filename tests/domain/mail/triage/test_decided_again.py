"""A newer decision asks for nothing that a person refused and for nothing that is under way."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.mail.actions.label_actions import Archive, Star
from domain.mail.actions.requested_action import Forward, RequestedAction
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.decided_again import REFUSED_BY_PERSON, UNDER_WAY, PastAction, newly_wanted, still_wanted
from domain.mail.triage.safety import CheckedAction
from tests.domain.mail.actions.any_action import NOON

SOME: list[RequestedAction] = [
    Archive(), Star(), Forward(to=("a@example.org",)), Forward(to=("b@example.org",)),
]  # fmt: skip
EARLIER = st.lists(
    st.builds(
        PastAction,
        action=st.sampled_from([*SOME, None]),
        status=st.sampled_from(ActionStatus),
        asked_at=st.integers(0, 9).map(lambda hours: NOON + timedelta(hours=hours)),
    ),
    max_size=6,
    unique_by=lambda one: one.asked_at,
)
CHECKED = st.lists(st.sampled_from(SOME), max_size=4, unique_by=repr).map(
    lambda asked: [CheckedAction(one, ActionStatus.QUEUED, one.danger) for one in asked]
)


@given(CHECKED, EARLIER)
def test_the_last_equal_action_says_whether_it_is_asked_for_again(
    checked: list[CheckedAction], earlier: list[PastAction]
) -> None:
    found = still_wanted(checked, earlier)
    assert len(found.actions) + len(found.left_out) == len(checked)
    for one in checked:
        same = sorted((each for each in earlier if each.action == one.action), key=lambda each: each.asked_at)
        by_person = bool(same) and same[-1].status in REFUSED_BY_PERSON
        left_out = by_person or (bool(same) and same[-1].status in UNDER_WAY)
        assert (one in found.actions) is not left_out


@given(CHECKED, EARLIER)
def test_where_nothing_is_superseded_what_waits_for_a_person_is_not_asked_for_again(
    checked: list[CheckedAction], earlier: list[PastAction]
) -> None:
    found = newly_wanted(checked, earlier)
    assert len(found.actions) + len(found.left_out) == len(checked)
    waiting = [each.action for each in earlier if each.status is ActionStatus.APPROVED_PENDING]
    wanted = still_wanted(checked, earlier).actions
    assert found.actions == tuple(one for one in wanted if one.action not in waiting)


@given(CHECKED)
def test_a_first_decision_loses_nothing(checked: list[CheckedAction]) -> None:
    assert still_wanted(checked, []) == (tuple(checked), ())


def test_every_way_to_be_left_out_is_said() -> None:
    one = CheckedAction(Archive(), ActionStatus.QUEUED, Archive().danger)
    for status in UNDER_WAY | REFUSED_BY_PERSON.keys():
        (left,) = still_wanted([one], [PastAction(Archive(), status, NOON)]).left_out
        assert left.kind == "archive"
        assert left.why

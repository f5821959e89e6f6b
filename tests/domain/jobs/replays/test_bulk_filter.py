"""A verb is done to jobs in some states, and asks a person for what it needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.jobs.job import State
from domain.jobs.replays.bulk_filter import BulkVerb, check_patch, check_states, needs_number


@given(st.sampled_from(list(BulkVerb)), st.sampled_from(list(State)))
def test_a_verb_is_done_to_states_that_it_can_be_done_to(verb: BulkVerb, state: State) -> None:
    check_states(verb, verb.states)
    if state not in verb.states:
        with pytest.raises(Invalid, match=state.value):
            check_states(verb, [state])


@pytest.mark.parametrize("verb", list(BulkVerb))
def test_a_person_says_how_many_where_many_or_unknown_many_are_changed(verb: BulkVerb) -> None:
    is_discard = verb is BulkVerb.DISCARD
    assert needs_number(verb, 1, is_all=True) == is_discard
    assert needs_number(verb, 1000, is_all=True) == is_discard
    assert needs_number(verb, 1001, is_all=True)
    assert needs_number(verb, 0, is_all=False)


@pytest.mark.parametrize("verb", list(BulkVerb))
def test_a_mend_has_a_change_and_nothing_else_has_one(verb: BulkVerb) -> None:
    with pytest.raises(Invalid):
        check_patch(verb, None if verb is BulkVerb.MEND else {"a": 1})
    check_patch(verb, {"a": 1} if verb is BulkVerb.MEND else None)

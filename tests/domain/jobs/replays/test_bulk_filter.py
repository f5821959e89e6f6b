"""A bulk filter is written in one way, and refuses by its field what makes no sense."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.jobs.job import State
from domain.jobs.replays.bulk_filter import BulkFilter, BulkVerb, check_patch, contained, needs_number

NAMES = st.text(st.characters(categories=["L"]), min_size=1, max_size=5)


def made(verb: BulkVerb, *, job_types: list[str], states: list[State]) -> BulkFilter:
    return BulkFilter.of(
        verb,
        org_id=None,
        job_types=job_types,
        states=states,
        queue=None,
        error_code=None,
        since=None,
        before=None,
        account_id=None,
        payload=(),
    )


@given(st.sampled_from(list(BulkVerb)), st.lists(NAMES), st.data())
def test_equal_filters_are_written_alike(verb: BulkVerb, names: list[str], data: st.DataObject) -> None:
    states = data.draw(st.lists(st.sampled_from(sorted(verb.states))))
    given_so = made(verb, job_types=names, states=states)
    otherwise = made(verb, job_types=[*reversed(names), *names], states=states[::-1])
    assert given_so.model_dump_json() == otherwise.model_dump_json()
    assert set(given_so.states) == (set(states) or verb.states)
    assert BulkFilter(**given_so.model_dump(mode="json")) == given_so


@given(st.sampled_from(list(BulkVerb)), st.sampled_from(list(State)))
def test_a_verb_is_done_to_states_that_it_can_be_done_to(verb: BulkVerb, state: State) -> None:
    if state in verb.states:
        assert made(verb, job_types=[], states=[state]).states == (state,)
        return
    with pytest.raises(Invalid, match=state.value):
        made(verb, job_types=[], states=[state])


@given(st.lists(NAMES, min_size=1, max_size=4), st.integers() | NAMES.map(lambda word: f"{word}?"))
def test_a_payload_is_asked_for_by_path(names: list[str], value: object) -> None:
    found: object = contained([f"{'.'.join(names)}={value}"])
    for name in names:
        assert isinstance(found, dict)
        found = found[name]
    assert found == (
        value if isinstance(value, int) or value not in {"null", "true", "false", "NaN", "Infinity"} else found
    )


@pytest.mark.parametrize(
    "asked", [["a"], ["=1"], ["a..b=1"], ["a=1", "a=1"], ["a=1", "a.b=1"], ["a" + ".a" * 64 + "=1"]]
)
def test_what_is_no_path_and_value_is_refused(asked: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        contained(asked)
    assert refused.value.reason.startswith("payload")


def test_two_fields_of_one_object_are_asked_for_together() -> None:
    assert contained(["a.b=1", 'a.c="1"', "d=x=y"]) == {"a": {"b": 1, "c": "1"}, "d": "x=y"}


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

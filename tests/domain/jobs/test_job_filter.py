"""A filter is written in one way, and refuses by its field what makes no sense."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.jobs.job import State
from domain.jobs.monitoring.job_filter import JobFilter

NAMES = st.text(st.characters(categories=["L"]), min_size=1, max_size=5)


@given(st.lists(NAMES), st.lists(st.sampled_from(State)), st.lists(st.uuids()))
def test_equal_filters_are_written_alike(names: list[str], states: list[State], ids: list[UUID]) -> None:
    given_so = JobFilter(job_types=tuple(names), states=tuple(states), job_ids=tuple(ids))
    otherwise = JobFilter(job_types=(*names[::-1], *names), states=tuple(states[::-1]), job_ids=(*ids[::-1], *ids))
    assert given_so.model_dump_json() == otherwise.model_dump_json()
    assert set(given_so.states) == set(states)
    assert JobFilter(**given_so.model_dump(mode="json")) == given_so


@given(st.lists(NAMES, min_size=1, max_size=4), st.text())
def test_a_payload_is_asked_for_by_path(names: list[str], value: str) -> None:
    assert JobFilter(payload=(f"{'.'.join(names)}={value}",)).matches == [(names, value)]


@pytest.mark.parametrize("said", ["a", "=1", "a..b=1", "a" + ".a" * 64 + "=1"])
def test_what_is_no_path_and_value_is_refused(said: str) -> None:
    with pytest.raises(Invalid) as refused:
        JobFilter(payload=(said,))
    assert refused.value.field == "payload"

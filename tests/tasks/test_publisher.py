"""Hints on their way: ordinary ones one to a message, light ones many."""

from itertools import chain
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from domain.job import Hint
from tasks.publisher import BUNDLE, TOGETHER, bundles, hint_message

hints = st.builds(
    Hint,
    job_id=st.builds(uuid4),
    job_type=st.sampled_from(["probe.a", "probe.b"]),
    queue=st.sampled_from(["default", "exports"]),
    light=st.booleans(),
)


@given(st.lists(hints, max_size=3 * BUNDLE))
def test_each_hint_travels_once_and_only_with_its_like(given_hints: list[Hint]) -> None:
    sent = list(bundles(given_hints))
    assert sorted(chain.from_iterable(sent), key=lambda hint: hint.job_id) == sorted(
        given_hints, key=lambda hint: hint.job_id
    )
    for bundle in sent:
        assert 1 <= len(bundle) <= BUNDLE
        assert len({(hint.job_type, hint.queue) for hint in bundle}) == 1
        assert len(bundle) == 1 or all(hint.light for hint in bundle)


def test_a_message_about_one_job_carries_its_id_alone() -> None:
    job_id = uuid4()
    headers = hint_message("probe.a", [job_id])["headers"]
    assert (headers["id"], TOGETHER in headers) == (str(job_id), False)


def test_a_message_about_several_names_them_all() -> None:
    job_ids = [uuid4() for _ in range(3)]
    headers = hint_message("probe.a", job_ids)["headers"]
    assert headers["id"] == str(job_ids[0])
    assert [UUID(name) for name in headers[TOGETHER]] == job_ids

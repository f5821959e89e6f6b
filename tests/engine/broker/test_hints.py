"""Hints on their way: those of one queue and type share messages."""

import json
from itertools import chain
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.job import Hint
from domain.jobs.scheduling.backlog_demand import LARGEST_MESSAGE, BacklogKey
from engine.broker.hints import (
    BUNDLE,
    CLAIM_BACKLOG,
    DEMAND,
    MOST_NAMED,
    TOGETHER,
    HintMessage,
    Unreadable,
    bundles,
    demand_message,
    hint_message,
    is_ours,
    read_message,
)

hints = st.builds(
    Hint,
    job_id=st.builds(uuid4),
    job_type=st.sampled_from(["probe.a", "probe.b"]),
    queue=st.sampled_from(["default", "exports"]),
)


@given(st.lists(hints, max_size=3 * BUNDLE), st.sampled_from([1, 3, BUNDLE]))
def test_each_hint_travels_once_and_only_with_its_like(given_hints: list[Hint], size: int) -> None:
    sent = list(bundles(given_hints, size))
    assert sorted(chain.from_iterable(sent), key=lambda hint: hint.job_id) == sorted(
        given_hints, key=lambda hint: hint.job_id
    )
    for bundle in sent:
        assert 1 <= len(bundle) <= size
        assert len({(hint.job_type, hint.queue) for hint in bundle}) == 1


def test_a_message_about_one_job_carries_its_id_alone() -> None:
    job_id = uuid4()
    headers = hint_message([Hint(job_id, "probe.a", "default")])
    assert (headers["id"], TOGETHER in headers) == (str(job_id), False)


def test_a_message_about_several_names_them_all() -> None:
    job_ids = [uuid4() for _ in range(3)]
    headers = hint_message([Hint(job_id, "probe.a", "default") for job_id in job_ids])
    assert headers["id"] == str(job_ids[0])
    assert read_message("default", headers) == HintMessage(
        "probe.a", tuple((job_id, 1) for job_id in job_ids), "default"
    )


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        (hint_message([Hint(uuid4(), "probe.a", "default")]), True),
        (demand_message({BacklogKey("default", 0, uuid4()): 1}), True),
        ({"id": "1", "task": "probe.a", "origin": "gen1@host"}, False),
        ({}, False),
        (["origin"], False),
        (None, False),
    ],
    ids=["a hint", "demand", "a client's", "no headers", "a list", "nothing"],
)
def test_a_message_is_ours_when_its_headers_say_so(headers: object, ours: bool) -> None:
    assert is_ours(headers) is ours


def test_demand_arrives_as_it_was_sent() -> None:
    demand = {BacklogKey("exports", 5, uuid4()): 3, BacklogKey("exports", -1, uuid4()): 1}
    headers = json.loads(json.dumps(demand_message(demand)))
    assert headers["task"] == CLAIM_BACKLOG
    assert read_message("exports", headers) == HintMessage(CLAIM_BACKLOG, tuple(demand.items()), "exports")


SOME_DEMAND = demand_message({BacklogKey("default", 0, uuid4()): 1})


@pytest.mark.parametrize(
    "listed",
    [
        None,
        7,
        [7],
        [[0, "0"]],
        [[0, str(uuid4()), 0]],
        [[0, str(uuid4()), LARGEST_MESSAGE + 1]],
        [[0, str(uuid4()), "many"]],
        [["high", str(uuid4()), 1]],
        [[0, "nobody", 1]],
        [[0, 5, 1]],
        [[0, str(uuid4()), 1, 1]],
        [[10**30, str(uuid4()), 1]],
        [[True, str(uuid4()), 1]],
        [[{}, str(uuid4()), 1]],
        [[[], str(uuid4()), 1]],
        [[101, str(uuid4()), 1]],
        [[0, str(uuid4()), True]],
        [[0, str(uuid4()), 1.0]],
        [[0, str(uuid4()), 10**30]],
        [[0, str(uuid4()), 1]] * (LARGEST_MESSAGE + 1),
        [[0, str(uuid4()), LARGEST_MESSAGE], [0, str(uuid4()), LARGEST_MESSAGE]],
        [],
        {},
    ],
)
def test_demand_that_cannot_be_read_is_refused_by_its_field(listed: object) -> None:
    with pytest.raises(Unreadable) as refusal:
        read_message("default", SOME_DEMAND | {DEMAND: listed})
    assert refusal.value.field == DEMAND


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "seven"},
        {"id": 7},
        {"id": None},
        {"id": [str(uuid4())]},
        {TOGETHER: "seven"},
        {TOGETHER: [7]},
        {TOGETHER: 7},
        {TOGETHER: []},
        {TOGETHER: {}},
        {TOGETHER: [str(uuid4())] * (MOST_NAMED + 1)},
    ],
)
def test_a_hint_that_names_no_job_is_refused_by_its_field(changed: dict[str, object]) -> None:
    headers = hint_message([Hint(uuid4(), "probe.a", "default")])
    with pytest.raises(Unreadable) as refusal:
        read_message("default", headers | changed)
    assert refusal.value.field == "id"


@pytest.mark.parametrize("task", [None, 7, [], {}, "", "two words", "a." * 60, "a\0"])
def test_a_hint_of_no_job_type_is_refused_by_its_field(task: object) -> None:
    headers = hint_message([Hint(uuid4(), "probe.a", "default")]) | {"task": task}
    with pytest.raises(Unreadable) as refusal:
        read_message("default", headers)
    assert refusal.value.field == "task"


def test_a_job_that_a_message_names_twice_is_claimed_once() -> None:
    job_id, key = uuid4(), BacklogKey("default", 0, uuid4())
    headers = hint_message([Hint(job_id, "probe.a", "default")]) | {TOGETHER: [str(job_id), str(job_id).upper()]}
    assert read_message("default", headers).named == ((job_id, 1),)
    listed = [[0, str(key.org_id), 2], [0, str(key.org_id), 3]]
    assert read_message("default", demand_message({key: 5}) | {DEMAND: listed}).named == ((key, 5),)

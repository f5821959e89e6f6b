"""What a worker has received: hints come in their order, none twice; a message is answered with its last hint."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.scheduling.backlog_demand import BacklogKey
from engine.broker.hints import HintMessage, Named
from engine.worker.inbox import Inbox, TakenHints

ORG = UUID(int=1)
NAMED = st.one_of(
    st.tuples(st.uuids(), st.just(1)),
    st.tuples(st.builds(BacklogKey, st.just("default"), st.integers(-3, 3), st.just(ORG)), st.integers(1, 9)),
)
MESSAGES = st.lists(st.lists(NAMED, min_size=1, max_size=4), max_size=6)


def spread(named: list[Named]) -> list[object]:
    return [what for what, count in named for _ in range(count)]


def received(messages: list[list[Named]]) -> Inbox:
    inbox = Inbox()
    for place, named in enumerate(messages):
        inbox.receive(place, HintMessage("probe.a", tuple(named), "default"), now=float(place))
    return inbox


def hints_of(taken: list[TakenHints]) -> list[object]:
    return [hint for one in taken for hint in spread(list(one.named))]


@given(MESSAGES, st.lists(st.integers(1, 12), max_size=40), st.data())
def test_hints_come_in_their_order_however_they_are_taken_and_put_back(
    messages: list[list[Named]], sizes: list[int], data: st.DataObject
) -> None:
    inbox, done = received(messages), []
    expected = [one for named in messages for one in spread(named)]
    for size in sizes:
        taken = [inbox.take(size) for _ in range(2) if inbox.hints]
        assert all(0 < one.size <= size for one in taken)
        if data.draw(st.booleans()):
            inbox.put_back(taken)
        else:
            done += hints_of(taken)
        assert inbox.hints == len(expected) - len(done)
    while inbox.hints:
        done += hints_of([inbox.take(5)])
    assert done == expected


def test_a_message_is_answered_when_its_last_hint_is_dealt_with() -> None:
    inbox = received([[(BacklogKey("default", 0, ORG), 5)], [(uuid4(), 1)]])
    first, rest, other = inbox.take(2), inbox.take(9), inbox.take(9)
    assert (first.size, rest.size, other.size, inbox.hints, inbox.messages) == (2, 3, 1, 0, 2)
    assert list(inbox.deal_with([first])) == []
    assert list(inbox.deal_with([rest, other])) == [0, 1]
    assert inbox.messages == 0


def test_what_was_not_taken_can_be_forgotten_and_what_was_is_still_answered() -> None:
    inbox = received([[(uuid4(), 1)], [(uuid4(), 1)]])
    one = inbox.take(1)
    inbox.clear()
    assert (inbox.hints, inbox.messages) == (0, 2)
    assert list(inbox.deal_with([one])) == [0]
    with pytest.raises(IndexError):
        inbox.take(1)


@given(MESSAGES, st.sets(st.integers(0, 5)), st.integers(0, 9))
def test_what_is_dropped_is_not_taken_and_all_is_answered(
    messages: list[list[Named]], dropped: set[int], taken: int
) -> None:
    inbox = received(messages)
    held = [inbox.take(taken)] if taken and inbox.hints else []
    left = [one for named in messages for one in spread(named)][sum(one.size for one in held) :]
    gone = [envelope for envelope in inbox.envelopes if envelope.message in dropped]
    rest = sum(envelope.left for envelope in gone)
    answered = [message for envelope in gone for message in inbox.drop(envelope)]
    assert set(answered) <= dropped
    assert inbox.hints == len(left) - rest
    kept = []
    while inbox.hints:
        kept.append(inbox.take(100))
    assert set(hints_of(kept)) <= set(left)
    answered += inbox.deal_with([*held, *kept])
    assert sorted(answered) == list(range(len(messages)))
    assert inbox.messages == 0


def test_a_message_whose_rest_is_dropped_is_answered_when_what_was_taken_is_dealt_with() -> None:
    inbox = received([[(BacklogKey("default", 0, ORG), 5)]])
    taken = inbox.take(2)
    assert list(inbox.drop(inbox.first)) == []
    assert (inbox.hints, inbox.messages) == (0, 1)
    inbox.put_back([taken])
    assert inbox.hints == 2
    assert list(inbox.deal_with([inbox.take(9)])) == [0]

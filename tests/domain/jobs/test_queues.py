"""Names of queues in a broker that several fleets share."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.queues import BrokerNames, Queue

PREFIXES = st.from_regex(r"([A-Za-z0-9][A-Za-z0-9._:-]{0,11})?", fullmatch=True)


@given(PREFIXES, PREFIXES)
def test_a_fleet_knows_its_own_queues_and_no_other_fleets(one: str, other: str) -> None:
    ours, theirs = BrokerNames(one), BrokerNames(other)
    for queue in Queue:
        assert ours.queue(ours.name(queue.value)) is queue
    if one != other:
        assert not any(theirs.queue(ours.name(queue.value)) for queue in Queue)
        assert all(ours.name(mine) != theirs.name(their) for mine, their in product(Queue, Queue))
        assert ours.control_exchange != theirs.control_exchange
        assert ours.event_exchange != theirs.event_exchange


def test_without_a_prefix_the_names_are_celerys_and_the_queues_own() -> None:
    plain = BrokerNames()
    assert (plain.control_exchange, plain.event_exchange) == ("celery", "celeryev")
    assert [plain.name(queue.value) for queue in Queue] == [queue.value for queue in Queue]
    assert [plain.queue(name) for name in ("", None, 7, "nobody", "default ")] == [None] * 5

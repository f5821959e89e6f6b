"""How deep a JSON value may be."""

import pytest

from domain.jobs.contract import JobContract
from domain.jobs.failures import Invalid
from domain.jobs.nesting import MOST_LEVELS, nests_too_deep


def wrapped(document: object, levels: int) -> dict[str, object]:
    """The document inside so many nested objects."""
    for _ in range(levels - 1):
        document = {"a": document}
    return {"a": document}


@pytest.mark.parametrize("inmost", [1, {}, []], ids=repr)
def test_a_value_may_stand_so_many_levels_deep(inmost: object) -> None:
    assert not nests_too_deep(wrapped(inmost, MOST_LEVELS))
    assert nests_too_deep(wrapped(inmost, MOST_LEVELS + 1))
    assert nests_too_deep(wrapped([inmost], MOST_LEVELS))


def test_many_values_side_by_side_are_not_deep() -> None:
    assert not nests_too_deep({str(n): [{}] * 100 for n in range(100)})
    assert not nests_too_deep({})


def test_what_no_stack_could_follow_is_found_too_deep() -> None:
    assert nests_too_deep(wrapped(1, 100_000))


def test_a_contract_with_a_payload_too_deep_names_the_field() -> None:
    contract = {
        "job_id": "01a20666-15a7-7f24-b3dc-65fca6d763e8",
        "job_type": "probe.run",
        "org_id": "01a20666-15a7-7f24-b3dc-65fca6d763e9",
        "actor_type": "system",
        "actor_id": "billing",
        "request_id": "r",
        "correlation_id": "c",
        "idempotency_key": "k",
        "created_at": "2026-11-23T00:00:00Z",
        "payload_version": 1,
    }
    assert JobContract.parse(contract | {"payload": wrapped(1, MOST_LEVELS)}).payload
    with pytest.raises(Invalid, match=r"payload: .*64"):
        JobContract.parse(contract | {"payload": wrapped(1, MOST_LEVELS + 1)})

"""The job contract: bad input is refused with its field and the reason, never echoed."""

from typing import Any
from uuid import uuid4

import pytest

from domain.jobs.contract import JobContract, parse_time
from domain.jobs.failures import Invalid


def contract(**changes: object) -> dict[str, Any]:
    good: dict[str, Any] = {
        "job_id": str(uuid4()),
        "job_type": "gmail.sync",
        "org_id": str(uuid4()),
        "actor_type": "user",
        "actor_id": "u-1",
        "request_id": "r-1",
        "correlation_id": "c-1",
        "idempotency_key": "k-1",
        "created_at": "2026-11-21T12:00:00Z",
        "payload": {"account_id": "a"},
        "payload_version": 1,
    }
    return {key: value for key, value in (good | changes).items() if value is not ...}


def test_a_good_contract_becomes_a_job() -> None:
    new = JobContract.parse(contract(priority=5, scheduled_for="2026-11-22T12:00:00+01:00")).new_job()
    assert (new.job_type, new.priority, new.origin.actor_id) == ("gmail.sync", 5, "u-1")
    assert new.run_at is not None
    assert new.run_at.utcoffset() is not None


def test_the_fields_that_the_source_document_asks_for_are_enough() -> None:
    new = JobContract.parse(contract(payload_version=...)).new_job()
    assert (new.payload_version, new.payload) == (None, {"account_id": "a"})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"job_id": "x"}, "job_id"),
        ({"org_id": ...}, "org_id"),
        ({"actor_type": "robot"}, "actor_type"),
        ({"created_at": "2026-11-21T12:00:00"}, "created_at"),
        ({"payload": [1]}, "payload"),
        ({"payload_version": 0}, "payload_version"),
        ({"job_type": "no spaces here"}, "job_type"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"prioritty": 1}, "prioritty"),
        ({"priority": 1000}, "priority"),
    ],
)
def test_a_bad_contract_names_the_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        JobContract.parse(contract(**changes))
    assert caught.value.field == field


def test_the_offending_value_is_never_repeated() -> None:
    with pytest.raises(Invalid) as caught:
        JobContract.parse(contract(job_id="ya29.a-secret-token"))
    assert "secret" not in str(caught.value)
    with pytest.raises(Invalid):
        JobContract.parse("no object at all")


@pytest.mark.parametrize("text", ["yesterday", "2026-11-21T12:00:00"])
def test_a_time_needs_its_form_and_its_zone(text: str) -> None:
    with pytest.raises(Invalid, match="run_at"):
        parse_time(text, "run_at")

"""A request is read once; two requests are the same when they ask for the same."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.contract import JobContract
from domain.jobs.failures import Invalid
from domain.jobs.job import NewJob, Origin
from domain.jobs.job_request import JobRequest, fingerprint

ASKED: dict[str, object] = {"job_type": "gmail.sync", "payload": {"a": 1}}
documents = st.dictionaries(
    st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=12), max_size=4
)


def test_the_key_may_stand_in_the_header_or_in_the_document() -> None:
    assert JobRequest.parse(ASKED, "k") == JobRequest.parse(ASKED | {"idempotency_key": "k"})
    assert JobRequest.parse(ASKED | {"idempotency_key": "k"}, "k").idempotency_key == "k"
    with pytest.raises(Invalid, match="idempotency_key: "):
        JobRequest.parse(ASKED | {"idempotency_key": "j"}, "k")


@pytest.mark.parametrize("document", [None, [], "x", 1])
def test_a_request_is_an_object(document: object) -> None:
    with pytest.raises(Invalid, match="document: "):
        JobRequest.parse(document, "k")


ORG, AT = UUID(int=7), "2099-01-01T00:00:00Z"
CONTRACT = {
    "job_id": str(UUID(int=1)),
    "org_id": str(ORG),
    "actor_type": "api_key",
    "created_at": AT,
    **dict.fromkeys(("actor_id", "request_id", "correlation_id", "idempotency_key"), "x"),
}
NAMES = {
    "tenantId": ("org_id", str(ORG), "org_id", ORG),
    "jobType": ("job_type", "gmail.sync", "job_type", "gmail.sync"),
    "input": ("payload", {"a": 1}, "payload", {"a": 1}),
    "maxRetries": ("max_attempts", 2, "max_attempts", 3),
    "max_retries": ("max_attempts", 2, "max_attempts", 3),
    "run_at": ("scheduled_for", AT, "run_at", datetime(2099, 1, 1, tzinfo=UTC)),
    "scheduled_for": ("run_at", AT, "run_at", datetime(2099, 1, 1, tzinfo=UTC)),
}
"""By name: the field's own name, what is said, and the field and value of the job."""


def by_http(document: dict[str, object]) -> NewJob:
    return JobRequest.parse(document).new_job(ORG, Origin(), is_checked=False)


def by_celery(document: dict[str, object]) -> NewJob:
    return JobContract.parse(CONTRACT | document).new_job()


@pytest.mark.parametrize("read", [by_http, by_celery])
@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_a_field_means_the_same_at_each_entry_point(
    read: Callable[[dict[str, object]], NewJob], name: str
) -> None:
    own, said, field, value = NAMES[name]
    document = {key: given for key, given in ASKED.items() if key != own} | {name: said}
    assert getattr(read(document), field) == value


def test_a_request_for_another_org_than_the_key_s_is_refused_by_its_field() -> None:
    for name in ("org_id", "tenantId"):
        assert by_http(ASKED | {name: str(ORG)}).org_id == ORG
        with pytest.raises(Invalid, match=r"^org_id: is not the org of the key$"):
            by_http(ASKED | {name: str(UUID(int=8))})


@given(documents)
def test_order_white_space_and_the_key_do_not_make_another_request(document: dict[str, object]) -> None:
    turned = json.loads(json.dumps(dict(reversed(document.items())), indent=3))
    assert fingerprint(turned | {"idempotency_key": "k"}) == fingerprint(document | {"idempotency_key": "j"})


@given(documents, documents)
def test_another_document_is_another_request(one: dict[str, object], other: dict[str, object]) -> None:
    one.pop("idempotency_key", None)
    other.pop("idempotency_key", None)
    assert (fingerprint(one) == fingerprint(other)) == (one == other)

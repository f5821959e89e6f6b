"""A request is read once; two requests are the same when they ask for the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.jobs.job_request import JobRequest, fingerprint

ASKED = {"job_type": "gmail.sync", "payload": {"a": 1}}
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


@given(documents)
def test_order_white_space_and_the_key_do_not_make_another_request(document: dict[str, object]) -> None:
    turned = json.loads(json.dumps(dict(reversed(document.items())), indent=3))
    assert fingerprint(turned | {"idempotency_key": "k"}) == fingerprint(document | {"idempotency_key": "j"})


@given(documents, documents)
def test_another_document_is_another_request(one: dict[str, object], other: dict[str, object]) -> None:
    one.pop("idempotency_key", None)
    other.pop("idempotency_key", None)
    assert (fingerprint(one) == fingerprint(other)) == (one == other)

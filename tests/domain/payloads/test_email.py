"""What an order of a mail refuses, by field, before anything is stored; and how what it takes is written."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.parsing.html_text import html_to_text
from domain.payloads.email import HEADERS, LONGEST_TEXT, MOST_RECIPIENTS, SendPayload

ID = UUID(int=1)
GOOD: dict[str, Any] = {"to": "ada@example.com", "subject": "Lunch", "text": "At noon?"}
MANY = [f"person{number}@example.com" for number in range(1_000)]


@pytest.mark.parametrize(
    ("changed", "field", "reason"),
    [
        ({"to": "ada@example.com\nBcc: eve@example.com"}, "to.0", "control character"),
        ({"to": "ada@example.com\r\n"}, "to.0", "control character"),
        ({"to": []}, "to", "names nobody"),
        ({"to": None}, "to", "valid array"),
        ({"to": ""}, "to.0", "at least 3 characters"),
        ({"to": MANY[:51]}, "to", "51 addresses, and a mail has at most 50"),
        ({"to": MANY[:20], "cc": MANY[20:40], "bcc": MANY[40:51]}, "to", "51 addresses"),
        ({"to": MANY}, "to", "1000 addresses"),
        ({"to": "Ada <ada@example.com>, bob@example.com"}, "to.0", "no address"),
        ({"to": "ada@exa mple.com"}, "to.0", "no domain"),
        ({"to": "jürgen@example.com"}, "to.0", "only ASCII"),
        ({"cc": ["nobody"]}, "cc.0", "no address"),
        ({"reply_to": MANY[:11]}, "reply_to", "more than 10"),
        ({"subject": "Lunch\nBcc: eve@example.com"}, "subject", "control character"),
        ({"subject": " "}, "subject", "pattern"),
        ({"subject": "x" * 999}, "subject", "at most 998"),
        ({"text": None}, "text", "is empty, and so is html"),
        ({"text": " \n", "html": " "}, "text", "is empty, and so is html"),
        ({"text": "x" * (LONGEST_TEXT + 1)}, "text", f"at most {LONGEST_TEXT}"),
        ({"text": "a\0b"}, "text", "cannot store"),
        ({"headers": {"Bcc": "eve@example.com"}}, "headers", "takes only Auto-Submitted"),
        ({"headers": {"List-Id": "a\r\nBcc: eve@example.com"}}, "headers.List-Id", "control character"),
        ({"headers": {"List-Id": "<a>", "list-id": "<b>"}}, "headers.List-Id", "given twice"),
        ({"headers": {"List-Id": "é"}}, "headers.List-Id", "other letters"),
        ({"attachments": ["an-artifact"]}, "attachments.0.artifact_id", "UUID"),
        ({"attachments": [{"filename": "a.pdf"}]}, "attachments.0.artifact_id", "required"),
        (
            {"attachments": [{"artifact_id": str(ID), "filename": "a/b"}]},
            "attachments.0.filename",
            "is a path",
        ),
        ({"attachments": [str(ID)] * 21}, "attachments", "at most 20"),
        ({"reference": "a\nb"}, "reference", "control character"),
        ({"reference": "x" * 101}, "reference", "at most 100"),
        ({"from": "eve@example.com"}, "from", "not permitted"),
    ],
)
def test_an_order_refuses_by_field(changed: dict[str, Any], field: str, reason: str) -> None:
    document = {name: value for name, value in (GOOD | changed).items() if value is not None or name == "to"}
    with pytest.raises(Invalid, match=reason) as refused:
        SendPayload.accept(document, 1)
    assert refused.value.field == f"payload.{field}"


@pytest.mark.parametrize(
    "address",
    [
        "Ada Lovelace <ada@example.com>",
        '"Lovelace, Ada" <ada@example.com>',
        '"ada b"@example.com',
        "ada@bücher.example",
        "Ωmega <omega@παράδειγμα.example>",
        "ada+tag@sub.example.com",
    ],
)
def test_an_order_takes_one_address_or_many(address: str) -> None:
    for to in (address, [address], [*MANY[: MOST_RECIPIENTS - 1], address]):
        words = SendPayload.renamed(GOOD | {"to": to}).words
        assert words is not None
        assert words.said.model_dump()["to"][-1] == address


def test_words_are_no_payload() -> None:
    """What people write stands in a row: the payload that is stored has an id and nothing else."""
    accepted = SendPayload.accept(GOOD, 1)
    assert not accepted.is_checked
    assert set(SendPayload.model_fields) == {"order_id"}
    with pytest.raises(Invalid, match="is made of words where a job is enqueued"):
        SendPayload.read(GOOD, 1)


@given(st.text(), st.text())
def test_no_header_can_end_its_line(name: str, value: str) -> None:
    try:
        words = SendPayload.renamed(GOOD | {"headers": {name: value}, "subject": value}).words
    except Invalid:
        return
    assert words is not None
    said = words.said.model_dump()
    assert set(said["headers"]) <= set(HEADERS.values())
    assert not any(
        set(text) & set("\r\n\0\x0b\x0c\x85\u2028\u2029") for text in (said["subject"], *said["headers"].values())
    )


def test_a_page_has_a_text() -> None:
    assert html_to_text("<p>Lunch at <b>noon</b>?</p>").strip() == "Lunch at noon?"

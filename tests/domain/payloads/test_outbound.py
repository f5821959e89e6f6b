"""What the payload of outbound.send refuses, by field, before anything is stored."""

import base64
import json
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.contract import LARGEST_PAYLOAD
from domain.jobs.failures import Invalid
from domain.payloads.mail_fields import LARGEST_ATTACHMENT, mailbox_parts
from domain.payloads.outbound import MOST_RECIPIENTS, SendPayload
from tests.house.reading import ROOT

GOLDEN: dict[str, Any] = json.loads((ROOT / "tests/golden/outbound.send.v1.json").read_text())


def file_of(size: int, **facts: object) -> dict[str, object]:
    data = base64.b64encode(b"x" * size).decode()
    return {"filename": "plan.pdf", "content_type": "application/pdf", "data": data, **facts}


IN_ARTIFACT = {
    "filename": "plan.pdf", "content_type": "application/pdf", "artifact_id": str(UUID(int=7)), "size": 5_000_000,
    "sha256": "0" * 64,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "field", "reason"),
    [
        ({"to": [], "cc": [], "bcc": []}, "to", "names nobody"),
        ({"to": ["ada@example.org"] * 499 + ["bob@example.org"]}, "to", "more than 500"),
        ({"to": ["ada@example.org"] * 501}, "to", "at most 500"),
        ({"to": ["Ada <ada@example.org>, bob@example.org"]}, "to.0", "no address"),
        ({"cc": ["Ada\r\nBcc: eve@example.org"]}, "cc.0", "control character"),
        ({"bcc": ["Ada\u2028 <ada@example.org>"]}, "bcc.0", "control character"),
        ({"to": ["nobody"]}, "to.0", "no address"),
        ({"subject": "Hello\nBcc: eve@example.org"}, "subject", "control character"),
        ({"references": ["<a@b>\r\nX-Evil: 1"]}, "references.0", "control character"),
        ({"body_plain": " ", "body_html": ""}, "body_plain", "is empty"),
        ({"body_plain": "x" * 100_001}, "body_plain", "at most 100000"),
        ({"original_message_id": None}, "original_message_id", "a reply needs it"),
        ({"message_type": "new"}, "original_message_id", "a new mail has none"),
        ({"message_type": "spam"}, "message_type", "'reply', 'forward' or 'new'"),
        ({"thread_id": "../x"}, "thread_id", "pattern"),
        ({"attachments": [file_of(1, data="not base64!")]}, "attachments.0.data", "is not base64"),
        ({"attachments": [file_of(1, data="aGk")]}, "attachments.0.data", "is not base64"),
        ({"attachments": [file_of(LARGEST_ATTACHMENT + 1)]}, "attachments.0.data", f"at most {LARGEST_ATTACHMENT}"),
        ({"attachments": [file_of(LARGEST_ATTACHMENT // 2 + 9)] * 2}, "attachments", f"at most {LARGEST_ATTACHMENT}"),
        ({"attachments": [file_of(1)] * 21}, "attachments", "at most 20"),
        ({"attachments": [IN_ARTIFACT | {"sha256": None}]}, "attachments.0.data", "with its size and sha256"),
        ({"attachments": [IN_ARTIFACT | {"data": "aGk="}]}, "attachments.0.data", "lies in one place"),
        ({"attachments": [IN_ARTIFACT | {"size": 9_000_001}] * 2}, "attachments", "at most 18000000"),
        ({"attachments": [IN_ARTIFACT | {"size": 18_000_001}]}, "attachments.0.size", "18000000"),
        ({"attachments": [file_of(1, filename="a\r\nContent-Type: x")]}, "attachments.0.filename", "control character"),
        ({"attachments": [file_of(1, filename="../../etc/passwd")]}, "attachments.0.filename", "is a path"),
        ({"attachments": [file_of(1, content_type="text")]}, "attachments.0.content_type", "no media type"),
        ({"attachments": [file_of(1, content_type="multipart/mixed")]}, "attachments.0.content_type", "no type"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_field(changed: dict[str, object], field: str, reason: str) -> None:
    with pytest.raises(Invalid) as refusal:
        SendPayload.read(GOLDEN | changed, 1)
    assert refusal.value.field == f"payload.{field}"
    assert reason in refusal.value.reason


def test_a_forward_needs_no_words_of_its_own() -> None:
    forward = GOLDEN | {"message_type": "forward", "body_plain": "", "body_html": ""}
    assert SendPayload.read(forward, 1).message_type == "forward"


def test_the_seed_s_name_of_the_content_type_is_taken_and_stored_as_ours() -> None:
    named = file_of(1)
    seed = {key: value for key, value in named.items() if key != "content_type"} | {"mime_type": "application/pdf"}
    assert SendPayload.read(GOLDEN | {"attachments": [seed]}, 1).document()["attachments"] == [named]


def test_a_file_in_an_artifact_is_named_and_not_carried() -> None:
    read = SendPayload.read(GOLDEN | {"attachments": [IN_ARTIFACT] * 3}, 1)
    assert read.document()["attachments"] == [IN_ARTIFACT] * 3


def test_the_largest_file_fits_every_door() -> None:
    whole = SendPayload.read(GOLDEN | {"attachments": [file_of(LARGEST_ATTACHMENT)]}, 1)
    assert len(json.dumps(whole.document()).encode()) < LARGEST_PAYLOAD


def test_recipients_are_counted_together() -> None:
    full = GOLDEN | {"to": ["ada@example.org"] * (MOST_RECIPIENTS - 2)}
    assert len(SendPayload.read(full, 1).recipients) == MOST_RECIPIENTS


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("ada@example.org", ("", "ada@example.org")),
        (" Ada Lovelace  <ada@example.org> ", ("Ada Lovelace", "ada@example.org")),
        ('"Lovelace, \\"Ada\\"" <ada@example.org>', ('Lovelace, "Ada"', "ada@example.org")),
        ("Dr. Müller 博士 <mueller@example.org>", ("Dr. Müller 博士", "mueller@example.org")),
        ("<ada@example.org>", ("", "ada@example.org")),
    ],
)
def test_a_mailbox_is_a_name_and_an_address(text: str, parts: tuple[str, str]) -> None:
    assert mailbox_parts(text) == parts

"""Files on a draft of Graph: all of them and each once, whatever breaks off, before the draft is sent."""

import base64
import json
import logging
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.jobs.failures import CallState, Failure, Refused, Throttled, Transient
from observability.logs import TALKATIVE
from providers.microsoft.graph_drafts import (
    LARGEST_REQUEST,
    UPLOAD_FROM,
    ListedFile,
    compare_files,
    draft_request,
    file_document,
    mark,
    message_id_of,
    needs_mime,
    upload_document,
)
from providers.microsoft.sender import GraphSender
from providers.microsoft.uploads import PART, next_byte
from providers.ports.email import OutgoingEmail
from providers.rest_client import RestAnswer
from sandbox.emulator.fault_order import FaultOrder
from sandbox.microsoft import requests, uploads
from sandbox.microsoft.control import MicrosoftControl
from tests.providers.emails import make_email, make_file
from tests.providers.microsoft.conftest import MAILBOX, open_sender
from tests.providers.microsoft.description import FileAttachment, Mark, Message, UploadSessionRequest

SMALL, LARGE = make_file("small.txt", 100, "text/plain"), make_file("large.bin", UPLOAD_FROM + PART, "image/png")
WITH_LARGE = make_email(attachments=(SMALL, LARGE))


def files_of(control: MicrosoftControl) -> dict[str, bytes]:
    """The files of the only message, none of which is there twice."""
    (message,) = control.messages(MAILBOX)
    files = message["mail"]["attachments"]
    assert len({one["name"] for one in files}) == len(files)
    return {one["name"]: base64.b64decode(one["content"]) for one in files}


def failure_at(sender: GraphSender, email: OutgoingEmail) -> Failure:
    with pytest.raises(Failure) as raised:
        sender.create_draft(email)
    assert raised.value.call_state is CallState.IN_DOUBT
    assert "authtoken" not in f"{raised.value!r}{raised.value.__cause__}{raised.value.__context__}"
    return raised.value


@pytest.mark.parametrize("html", [None, "<p>and a text</p>"])
def test_small_files_go_with_the_draft_in_one_request(
    control: MicrosoftControl, sender: GraphSender, html: str | None
) -> None:
    sender.create_draft(make_email(attachments=(SMALL, make_file("Pläne.pdf", 2000)), html=html))
    assert files_of(control) == {"small.txt": SMALL.read(), "Pläne.pdf": make_file("Pläne.pdf", 2000).read()}
    assert control.journal("attachments.create") == []


@pytest.mark.parametrize("html", [None, "<p>and a text</p>"])
def test_files_beyond_one_request_are_added_one_by_one(
    control: MicrosoftControl, sender: GraphSender, html: str | None
) -> None:
    """https://github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/758."""
    middle = [make_file(f"{number}.bin", UPLOAD_FROM - 1) for number in range(2)]
    sender.send_draft(sender.create_draft(make_email(attachments=(SMALL, *middle, LARGE), html=html)))
    assert files_of(control) == {one.name: one.read() for one in (SMALL, *middle, LARGE)}
    assert len(control.journal("attachments.create")) == 3
    assert [call.summary["from"] for call in control.journal("uploads.put")] == [0, PART]


def test_an_upload_that_was_cut_is_resumed_where_it_broke_off(control: MicrosoftControl, sender: GraphSender) -> None:
    control.order(FaultOrder(operation="uploads.put", skip=1, drop="before"))
    assert isinstance(failure_at(sender, WITH_LARGE), Transient)
    assert sender.find_draft(WITH_LARGE) is not None
    assert files_of(control) == {"small.txt": SMALL.read(), "large.bin": LARGE.read()}
    assert [call.summary.get("from") for call in control.journal("uploads.put")] == [0, None, PART]
    assert len(control.journal("attachments.upload_session")) == 1


@pytest.mark.parametrize("skip", [0, 1])
def test_a_part_whose_answer_was_lost_is_not_sent_twice(
    control: MicrosoftControl, sender: GraphSender, skip: int
) -> None:
    control.order(FaultOrder(operation="uploads.put", skip=skip, drop="after"))
    failure_at(sender, WITH_LARGE)
    assert sender.find_draft(WITH_LARGE) is not None
    assert files_of(control)["large.bin"] == LARGE.read()
    assert [call.summary["from"] for call in control.journal("uploads.put")] == [0, PART]


def test_another_process_completes_a_draft_that_broke_off_in_the_middle_of_an_upload(
    control: MicrosoftControl, sender: GraphSender
) -> None:
    control.order(FaultOrder(operation="uploads.put", skip=1, drop="before"))
    failure_at(sender, WITH_LARGE)
    with open_sender(control.url) as other:
        draft = other.find_draft(WITH_LARGE)
        assert draft is not None
        other.send_draft(draft)
    assert files_of(control) == {"small.txt": SMALL.read(), "large.bin": LARGE.read()}


def test_an_upload_that_expired_is_begun_anew(control: MicrosoftControl, sender: GraphSender) -> None:
    control.order(FaultOrder(operation="uploads.put", skip=1, drop="before"))
    failure_at(sender, WITH_LARGE)
    control.expire_uploads()
    assert sender.find_draft(WITH_LARGE) is not None
    assert files_of(control)["large.bin"] == LARGE.read()


def test_a_throttled_upload_waits_as_long_as_it_is_told_and_goes_on(
    control: MicrosoftControl, sender: GraphSender
) -> None:
    """https://github.com/microsoftgraph/microsoft-graph-docs/issues/8443."""
    control.turn(MAILBOX, upload_per_30_s=PART)
    throttled = failure_at(sender, WITH_LARGE)
    assert isinstance(throttled, Throttled)
    assert timedelta(seconds=28) < throttled.retry_after <= timedelta(seconds=31)
    control.advance_clock(31)
    assert sender.find_draft(WITH_LARGE) is not None
    assert files_of(control)["large.bin"] == LARGE.read()
    assert len(control.journal("attachments.upload_session")) == 1


def test_the_mailboxs_own_maximum_is_a_refusal_of_this_mail(control: MicrosoftControl, sender: GraphSender) -> None:
    """https://github.com/microsoftgraph/msgraph-sdk-java/issues/2148."""
    control.turn(MAILBOX, largest_message=UPLOAD_FROM)
    refused = failure_at(sender, WITH_LARGE)
    assert (type(refused), refused.code) == (Refused, "microsoft.ErrorMessageSizeExceeded")


def test_a_file_whose_addition_was_lost_is_added_once(control: MicrosoftControl, sender: GraphSender) -> None:
    email = make_email(attachments=(SMALL, make_file("b.bin", UPLOAD_FROM - 1), make_file("c.bin", UPLOAD_FROM - 1)))
    control.order(FaultOrder(operation="attachments.create", skip=1, drop="after"))
    failure_at(sender, email)
    assert sender.find_draft(email) is not None
    assert files_of(control) == {one.name: one.read() for one in email.attachments}


def test_a_draft_with_a_file_too_many_is_dropped_and_made_anew(control: MicrosoftControl, sender: GraphSender) -> None:
    sender.create_draft(make_email(attachments=(SMALL, make_file("extra.bin"))))
    email = make_email(attachments=(SMALL,))
    assert sender.find_draft(email) is None
    assert control.messages(MAILBOX) == []
    sender.create_draft(email)
    assert files_of(control) == {"small.txt": SMALL.read()}


def test_the_address_of_an_upload_is_in_no_log(control: MicrosoftControl, caplog: pytest.LogCaptureFixture) -> None:
    """Libraries that print what they send are quiet below a warning, as `observability.logs` sets them."""
    caplog.set_level(logging.DEBUG)
    for library in TALKATIVE:
        caplog.set_level(logging.WARNING, logger=library)
    control.order(FaultOrder(operation="uploads.put", status=500))
    with open_sender(control.url) as sender:
        failure = failure_at(sender, WITH_LARGE)
        assert isinstance(failure, Transient)
        assert "authtoken" not in repr(vars(sender))
        assert "/uploads/" not in repr(vars(vars(sender)["_uploads"]))
    assert "authtoken" not in caplog.text


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "https://example.com/x", "file:///etc/passwd", 7, None])
def test_an_address_of_another_kind_is_not_uploaded_to(control: MicrosoftControl, url: object) -> None:
    """The emulator has no TLS, so an address with TLS is the other kind here."""
    body = {"uploadUrl": url, "nextExpectedRanges": ["0-"]}
    control.order(FaultOrder(operation="attachments.upload_session", status=201, body=body))
    with open_sender(control.url) as sender:
        failure_at(sender, WITH_LARGE)
    assert control.journal("uploads.put") == []


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [(["0-"], 0), (["2097152"], 2_097_152), (["5-9", "2-3"], 2), ([], None)],
)
def test_every_spelling_of_the_next_byte_is_read(ranges: list[str], expected: int | None) -> None:
    body = json.dumps({"nextExpectedRanges": ranges}).encode()
    assert next_byte(RestAnswer(200, {}, body)) == expected


@pytest.mark.parametrize("body", [b"", b"{}", b'{"nextExpectedRanges": "0-"}', b'{"nextExpectedRanges": ["x", "0-"]}'])
def test_what_tells_no_next_byte_is_no_answer(body: bytes) -> None:
    with pytest.raises(Transient):
        next_byte(RestAnswer(200, {}, body))


def test_a_vendor_that_asks_for_the_same_part_for_ever_is_not_obeyed(
    control: MicrosoftControl, sender: GraphSender
) -> None:
    stuck = {"nextExpectedRanges": ["0-"]}
    control.order(FaultOrder(operation="uploads.put", times=None, status=200, body=stuck))
    assert failure_at(sender, WITH_LARGE).code == "microsoft.upload_stuck"
    assert len(control.journal("uploads.put")) == 1


@pytest.mark.parametrize(("status", "code"), [(404, "gone"), (410, "gone"), (416, "elsewhere"), (409, "elsewhere")])
def test_an_upload_that_graph_lost_sight_of_is_completed_by_the_next_attempt(
    control: MicrosoftControl, sender: GraphSender, status: int, code: str
) -> None:
    control.order(FaultOrder(operation="uploads.put", skip=1, status=status))
    assert failure_at(sender, WITH_LARGE).code == f"microsoft.upload_{code}"
    assert sender.find_draft(WITH_LARGE) is not None
    assert files_of(control)["large.bin"] == LARGE.read()


SIZES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5)), max_size=5)


@given(sizes=SIZES, extra=SIZES, overhead=st.integers(0, 3))
def test_files_are_compared_by_name_and_size_as_often_as_they_are_there(
    sizes: list[tuple[str, int]], extra: list[tuple[str, int]], overhead: int
) -> None:
    wanted = [make_file(name, size) for name, size in sizes]
    same = [ListedFile(name, size + overhead) for name, size in sizes]
    assert compare_files(wanted, same) == ((), 0)
    more = compare_files(wanted, [*same, *(ListedFile(name, size) for name, size in extra)])
    assert (more.missing, more.surplus) == ((), len(extra))
    fewer = compare_files(wanted, same[1:])
    assert (len(fewer.missing), fewer.surplus) == (min(1, len(sizes)), 0)


def test_a_file_that_is_shorter_than_ours_is_not_ours() -> None:
    assert compare_files([make_file("a", 10)], [ListedFile("a", 9)]) == ((0,), 1)


WORDS = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=60)


@given(
    subject=WORDS,
    text=st.none() | st.text(max_size=50),
    headers=st.dictionaries(st.sampled_from(["X-A", "x-b", "List-Id"]), st.sampled_from(["1", "b c"])),
    files=st.integers(0, 3),
)
def test_a_request_is_as_described_or_is_mime(
    subject: str, text: str | None, headers: dict[str, str], files: int
) -> None:
    html = "<p>" if text is None else None
    email = make_email(subject=subject, text=text, html=html, headers=headers, attachments=(SMALL,) * files)
    request = draft_request(email)
    assert request.is_mime == needs_mime(email) == ("List-Id" in headers)
    if not request.is_mime:
        Message.model_validate_json(request.body)
    else:
        raw = base64.b64decode(request.body)
        assert raw.isascii()
        assert f"Message-ID: {message_id_of(email)}\r\n".encode() in raw


def test_the_other_requests_are_as_described() -> None:
    Mark.model_validate_json(mark("email-1"))
    FileAttachment.model_validate(file_document(SMALL))
    UploadSessionRequest.model_validate(upload_document(LARGE))


@pytest.mark.parametrize(
    "change",
    [
        {"toRecipients": []},
        {"internetMessageHeaders": [{"name": "List-Id", "value": "1"}]},
        {"internetMessageHeaders": [{"name": "X-A", "value": "1"}] * 6},
        {"singleValueExtendedProperties": [{"id": "PostroomReference", "value": "1"}]},
        {"body": {"contentType": "both", "content": ""}},
        {"tone": 1},
    ],
)
def test_what_graph_would_refuse_is_seen(change: dict[str, object]) -> None:
    good = json.loads(draft_request(make_email()).body)
    Message.model_validate(good)
    with pytest.raises(ValidationError):
        Message.model_validate(good | change)


def test_the_emulator_holds_us_to_graphs_limits() -> None:
    assert uploads.SMALLEST <= UPLOAD_FROM
    assert len(json.dumps(file_document(make_file(size=UPLOAD_FROM - 1)))) < requests.LARGEST_REQUEST
    assert LARGEST_REQUEST < requests.LARGEST_REQUEST
    assert PART <= uploads.LARGEST_PART


@pytest.mark.parametrize("reference", ["email-1", "a/b", "x" * 200, "..", "a@b"])
def test_a_message_id_is_the_same_for_each_attempt_and_one_atom(reference: str) -> None:
    email = make_email(reference=reference)
    message_id = message_id_of(email)
    assert message_id == message_id_of(email)
    local, _, domain = message_id.strip("<>").partition("@")
    assert domain == "example.com"
    assert 0 < len(local) <= 64
    assert not set(local) & set("@/<> ")

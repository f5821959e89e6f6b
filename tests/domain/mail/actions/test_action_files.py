"""Files of an action's mail: named by name, type, size and digest, and compared with what is ordered."""

import base64
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.actions.action_files import AskedArtifact, check_files, named, read_files
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import (
    LARGEST_MAIL,
    VERSION,
    AutoReply,
    Forward,
    RequestedAction,
    files_of,
    parse_action,
    read_action,
    with_files,
)
from domain.payloads.mail_fields import LARGEST_ATTACHMENT, LARGEST_FILES
from domain.payloads.outbound import AttachmentField

FORWARD: RequestedAction = Forward(to=("a@example.org",))
MAILS: list[RequestedAction] = [FORWARD, AutoReply(text="thanks")]


def with_content(documents: list[dict[str, str]]) -> list[AttachmentField]:
    """The files of a request that come with their content."""
    return [one for one in read_files(documents) if isinstance(one, AttachmentField)]


def document(name: str = "a.pdf", data: bytes = b"%PDF", content_type: str = "application/pdf") -> dict[str, str]:
    return {"filename": name, "content_type": content_type, "data": base64.b64encode(data).decode()}


SOME = st.lists(st.builds(document, st.sampled_from(["a.pdf", "b.pdf"]), st.binary(max_size=3)), min_size=1, max_size=4)


@given(SOME, st.sampled_from(MAILS))
def test_an_action_with_files_is_read_again_as_it_was(documents: list[dict[str, str]], mail: RequestedAction) -> None:
    files = tuple(named(one) for one in with_content(documents))
    action = with_files(mail, files)
    assert files_of(action) == files
    again = read_action(action.kind, action.parameters, VERSION)
    assert again == action
    assert (again.danger, again.inverse) == (mail.danger, mail.inverse)


@given(SOME, SOME)
def test_an_order_passes_exactly_with_the_files_that_were_approved(
    documents: list[dict[str, str]], others: list[dict[str, str]]
) -> None:
    approved, given_files = with_content(documents), with_content(others)
    names = [named(one) for one in approved]
    check_files(tuple(reversed(approved)), names)

    def sorted_names(documents: list[dict[str, str]]) -> list[tuple[str, ...]]:
        return sorted(tuple(one.values()) for one in documents)

    if sorted_names(documents) != sorted_names(others):
        with pytest.raises(Invalid, match=r"payload\.attachments"):
            check_files(given_files, names)


def test_an_action_without_files_stays_as_it_is() -> None:
    assert with_files(FORWARD, ()) == FORWARD
    assert "attachments" not in FORWARD.parameters


def test_a_rule_or_a_model_cannot_name_files() -> None:
    file = named(with_content([document()])[0]).model_dump()
    with pytest.raises(Invalid, match="attachments"):
        parse_action({"kind": "forward", "to": ["a@example.org"], "attachments": [file]})


def test_only_a_mail_has_files() -> None:
    with pytest.raises(Invalid, match=r"attachments: .*archive"):
        with_files(Archive(), [named(one) for one in with_content([document()])])


REFUSED: list[tuple[Any, str]] = [
    ("a.pdf", "attachments: is a list of files"),
    ([document("../a")], r"attachments\.0\.filename: is a path"),
    ([document() | {"data": "no base64!"}], r"attachments\.0\.data: is not base64"),
    ([document(content_type="message/rfc822")], r"attachments\.0\.content_type: is no type of a file"),
    ([document()] * 21, "attachments: "),
    ([{"filename": "a.pdf"}], r"attachments\.0\."),
    ([document() | {"data": None}], r"attachments\.0\.data: is missing, and so is the artifact"),
    ([{"artifact_id": "7"}], r"attachments\.0\.artifact_id: "),
    ([document() | {"artifact_id": str(UUID(int=7))}], r"attachments\.0\.data: "),
    ([{"artifact_id": str(UUID(int=7)), "filename": "../a"}], r"attachments\.0\.filename: is a path"),
]


@pytest.mark.parametrize(("given_files", "words"), REFUSED)
def test_a_file_that_cannot_be_sent_is_refused_by_its_field(given_files: object, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        read_files(given_files)


def test_content_that_comes_along_has_a_size_together() -> None:
    half = document(data=b"x" * (LARGEST_ATTACHMENT // 2 + 9_000))
    with pytest.raises(Invalid, match=f"attachments: .* at most {LARGEST_MAIL} fit: store larger files as artifacts"):
        with_files(FORWARD, [named(one) for one in with_content([half, half])])


ARTIFACT = UUID(int=7)


def in_artifact(size: int, name: str = "plan.pdf") -> AttachmentField:
    return AskedArtifact(artifact_id=ARTIFACT).attached(name, "application/pdf", size, "0" * 64)


def test_a_file_in_an_artifact_is_named_by_what_was_stored() -> None:
    (asked,) = read_files([{"artifact_id": str(ARTIFACT), "filename": "b.pdf"}])
    assert asked == AskedArtifact(artifact_id=ARTIFACT, filename="b.pdf")
    file = in_artifact(5_000_000)
    action = with_files(FORWARD, [named(file)])
    shown = {
        "filename": "plan.pdf", "content_type": "application/pdf", "size": 5_000_000, "sha256": "0" * 64,
        "artifact_id": str(ARTIFACT),
    }  # fmt: skip
    assert action.parameters["attachments"] == [shown]
    assert read_action(action.kind, action.parameters, VERSION) == action
    check_files([file], files_of(action))


def test_the_files_of_a_mail_have_a_size_together_wherever_they_lie() -> None:
    with pytest.raises(Invalid, match=f"at most {LARGEST_FILES}"):
        with_files(FORWARD, [named(in_artifact(LARGEST_FILES // 2 + 1))] * 2)
    for size in (0, LARGEST_FILES + 1):
        with pytest.raises(Invalid, match=f"has {size} bytes"):
            in_artifact(size)


def test_the_same_bytes_pass_wherever_they_lie() -> None:
    (inline,) = with_content([document("plan.pdf")])
    facts = named(inline)
    stored = AskedArtifact(artifact_id=ARTIFACT).attached("plan.pdf", "application/pdf", facts.size, facts.sha256)
    check_files([stored], [facts])
    with pytest.raises(Invalid, match=r"payload\.attachments\.0"):
        check_files([in_artifact(facts.size)], [facts])

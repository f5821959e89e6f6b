"""The rule by which the day predicts a draft: by the headers and words of a message, without the fleet's code."""

import ast
from collections import defaultdict
from datetime import UTC, datetime

import pytest

from sandbox.demo.expected_draft import expects_draft
from sandbox.demo.mailbox_story import tell_story
from sandbox.demo.processes import ROOT

QUESTION = "Could you send me the plan by Friday?"


def mail(text: str, *headers: str) -> bytes:
    head = ("From: Dora <dora@example.org>", "Subject: The plan", *headers)
    return "\r\n".join((*head, "", *text.split("\n"), "")).encode()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (mail(QUESTION), True),
        (mail("The plan is done."), False),
        (mail(QUESTION, "Auto-Submitted: auto-generated"), False),
        (mail(QUESTION, "Auto-Submitted: no"), True),
        (mail(QUESTION, "List-Unsubscribe: <mailto:off@example.org>"), False),
        (mail(QUESTION, "List-Unsubscribe: <mailto:off@example.org>", "List-Post: <mailto:plans@example.org>"), True),
        (mail(QUESTION, "Precedence: bulk"), False),
        (mail(QUESTION, "Precedence: bulk", "Sender: owner-plans@example.org"), True),
        (mail(f"I agree.\n-- \n{QUESTION}"), False),
        (mail(f"See below.\nThis is a forwarded message\n{QUESTION}"), False),
        (mail(f"> {QUESTION}\nDone."), False),
        (b"", False),
    ],
)
def test_a_draft_is_expected_where_somebody_who_may_be_answered_asks(raw: bytes, *, expected: bool) -> None:
    assert expects_draft(raw) is expected


def test_the_rule_agrees_with_what_the_manifest_says_of_the_60_messages() -> None:
    threads: dict[str, list[bool]] = defaultdict(list)
    ends: dict[str, str] = {}
    for one in tell_story(datetime.now(UTC)):
        thread = one.story.thread or one.story.file
        threads[thread].append(expects_draft(one.raw))
        ends[thread] = one.story.ends
    assert {thread: "drafted" if any(asked) else "skipped" for thread, asked in threads.items()} == ends


def test_no_prediction_is_made_by_the_code_that_it_judges() -> None:
    imported: set[str] = set()
    for path in (ROOT / "sandbox" / "demo").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
            if isinstance(node, ast.Import):
                imported.update(alias.name.partition(".")[0] for alias in node.names)
    assert (
        imported & {"commands", "domain", "engine", "gateway", "observability", "providers", "storage", "tasks"}
        == set()
    )

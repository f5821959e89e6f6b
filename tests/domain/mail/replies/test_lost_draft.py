"""What history tells of a draft whose making nobody saw the end of."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.mailbox import DRAFT, INBOX, SENT, Change, ChangeKind, MessageFacts
from domain.mail.outgoing.thread_ids import token_reference
from domain.mail.replies.lost_draft import LostDraft, shows_token, stands_for, traces

LOST = LostDraft("t1", "token-12345", 7, "<one@example.org>")
KINDS: tuple[ChangeKind, ...] = ("message_added", "message_deleted", "labels_added", "labels_removed")
LABELS = st.frozensets(st.sampled_from([DRAFT, SENT, INBOX, "Label_1"]), max_size=3)
CHANGES = st.lists(
    st.builds(
        Change,
        st.integers(1, 99),
        st.sampled_from(KINDS),
        st.sampled_from("abcde"),
        st.sampled_from(["t1", "t2"]),
        LABELS,
    ),
    max_size=12,
)


def message(thread_id: str = "t2", **headers: str) -> MessageFacts:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return MessageFacts("m1", thread_id, 9, frozenset({DRAFT}), datetime.now(UTC), named)


@given(CHANGES)
def test_the_traces_of_a_draft_are_the_drafts_and_sent_messages_that_were_added(changes: list[Change]) -> None:
    found = traces(changes)
    added = [one for one in changes if one.kind == "message_added"]
    assert found.drafts.keys() == {one.message_id for one in added if DRAFT in one.label_ids}
    assert found.sent.keys() == {one.message_id for one in added if SENT in one.label_ids}
    assert {*found.drafts.items(), *found.sent.items()} <= {(one.message_id, one.thread_id) for one in added}
    assert traces([*changes, *changes]) == found


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (message(x_postroom_token="token-12345"), True),
        (message(references=f"<a@b> {token_reference('token-12345')} <c@d>"), True),
        (message(x_postroom_token="token-123456"), False),
        (message("t1", in_reply_to="<one@example.org>"), False),
    ],
)
def test_the_token_is_seen_in_either_place(shown: MessageFacts, expected: bool) -> None:
    assert shows_token(shown, LOST.token) is expected


def test_a_draft_composed_anew_stands_in_the_thread_or_answers_the_same_message() -> None:
    assert stands_for(message("t1"), LOST)
    assert stands_for(message("t2", in_reply_to="<one@example.org>"), LOST)
    assert not stands_for(message("t2", in_reply_to="<two@example.org>"), LOST)
    assert not stands_for(message("t2"), LostDraft("t1", "token-12345"))
    assert not stands_for(message("t1", x_postroom_token="token-of-another"), LOST)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.correspondence import LabelRole
from domain.mail.mailbox import Change, ChangeKind, HistoryPage
from domain.mail.routing import (
    CheckSent,
    Cleanup,
    Ingest,
    OwnWrite,
    Rework,
    Sent,
    WriteManual,
    next_cursor,
    route,
)

ROLES = {f"Label_{number}": role for number, role in enumerate(LabelRole)}
ID_OF = {role: label_id for label_id, role in ROLES.items()}
KINDS: tuple[ChangeKind, ...] = ("message_added", "message_deleted", "labels_added", "labels_removed")
LABEL_IDS = st.sampled_from(["INBOX", "SENT", "DRAFT", "SPAM", "TRASH", "UNREAD", "Label_unknown", *ROLES])
CHANGES = st.builds(
    Change,
    history_id=st.integers(1, 10**19),
    kind=st.sampled_from(KINDS),
    message_id=st.sampled_from("abcdef"),
    thread_id=st.sampled_from("tuv"),
    label_ids=st.frozensets(LABEL_IDS, max_size=3),
)
HISTORY = st.lists(CHANGES, max_size=15)
DRAFTS = frozenset("ab")


@given(HISTORY)
def test_replayed_history_gives_the_same_intents(history: list[Change]) -> None:
    assert route(history + history, ROLES, DRAFTS) == route(history, ROLES, DRAFTS)


@given(HISTORY, st.data())
def test_duplicates_change_nothing(history: list[Change], data: st.DataObject) -> None:
    again = [change for change in history for _ in range(data.draw(st.integers(1, 3)))]
    assert route(again, ROLES, DRAFTS) == route(history, ROLES, DRAFTS)


@given(HISTORY, st.integers(0, 15))
def test_a_cut_into_pages_changes_nothing(history: list[Change], cut: int) -> None:
    pages = (*route(history[:cut], ROLES, DRAFTS), *route(history[cut:], ROLES, DRAFTS))
    assert tuple(dict.fromkeys(pages)) == route(history, ROLES, DRAFTS)


@given(HISTORY)
def test_own_label_writes_change_nothing(history: list[Change]) -> None:
    own = frozenset(OwnWrite(thread, label) for thread in "tuv" for label in ROLES)
    intents = route(history, ROLES, DRAFTS, own)
    assert not [one for one in intents if isinstance(one, Cleanup | Rework | WriteManual)]


@given(HISTORY)
def test_unknown_labels_change_nothing(history: list[Change]) -> None:
    intents = route(history, {}, DRAFTS)
    assert not [one for one in intents if isinstance(one, Cleanup | Rework | WriteManual)]


@pytest.mark.parametrize(
    ("role", "intent"),
    [
        (LabelRole.DONE, Cleanup("t", "done")),
        (LabelRole.REWORK, Rework("t")),
        (LabelRole.NEEDS_RESPONSE, WriteManual("t")),
        (LabelRole.OUTBOX, None),
        (LabelRole.ACTION_REQUIRED, None),
        (LabelRole.SNOOZED, None),
    ],
)
def test_a_label_on_every_message_of_a_thread_is_one_intent(role: LabelRole, intent: object) -> None:
    history = [Change(n, "labels_added", f"m{n}", "t", frozenset({ID_OF[role]})) for n in range(1, 20)]
    assert route(history, ROLES) == (() if intent is None else (intent,))
    removed = [Change(n, "labels_removed", f"m{n}", "t", frozenset({ID_OF[role]})) for n in range(1, 20)]
    assert route(removed, ROLES) == ()


@pytest.mark.parametrize(
    ("labels", "intents"),
    [
        ({"INBOX", "UNREAD"}, (Ingest("m", "t"),)),
        ({"INBOX", "CATEGORY_UPDATES"}, (Ingest("m", "t"),)),
        (set(), (Ingest("m", "t"),)),
        ({"DRAFT"}, ()),
        ({"DRAFT", "INBOX"}, ()),
        ({"SENT"}, (Sent("t", "m"),)),
        ({"SENT", "INBOX"}, (Sent("t", "m"), Ingest("m", "t"))),
        ({"SPAM"}, ()),
        ({"TRASH", "INBOX"}, ()),
        ({"Label_unknown"}, ()),
    ],
)
def test_new_messages(labels: set[str], intents: tuple[object, ...]) -> None:
    assert route([Change(1, "message_added", "m", "t", frozenset(labels))], ROLES) == intents


def test_a_sent_draft_is_checked_and_seen() -> None:
    history = [
        Change(1, "message_deleted", "draft", "t", frozenset({"DRAFT"})),
        Change(2, "message_added", "sent", "t", frozenset({"SENT"})),
        Change(3, "message_deleted", "stranger", "t"),
    ]
    assert route(history, ROLES, frozenset({"draft"})) == (CheckSent("t", "draft"), Sent("t", "sent"))


@pytest.mark.parametrize("label_id", ["TRASH", "SPAM"])
def test_a_draft_is_looked_at_when_it_or_its_message_is_thrown_away(label_id: str) -> None:
    history = [Change(n, "labels_added", one, "t", frozenset({label_id})) for n, one in enumerate(["ours", "stranger"])]
    assert route(history, ROLES, frozenset({"ours"})) == (CheckSent("t", "ours"),)


def test_leaving_inbox_and_going_to_the_trash_ask_for_nothing() -> None:
    history = [
        Change(1, "labels_removed", "m", "t", frozenset({"INBOX"})),
        Change(2, "labels_added", "m", "t", frozenset({"TRASH"})),
    ]
    assert route(history, ROLES) == ()


def test_mail_moved_into_the_inbox_is_ingested() -> None:
    assert route([Change(1, "labels_added", "m", "t", frozenset({"INBOX"}))], ROLES) == (Ingest("m", "t"),)


@given(st.integers(0, 10**19), HISTORY, st.integers(0, 10**19), st.none() | st.just("next"))
def test_the_cursor_never_goes_back(stored: int, history: list[Change], current: int, page: str | None) -> None:
    assert next_cursor(stored, HistoryPage(tuple(history), page, current)) >= stored


def test_the_cursor_takes_the_mailboxs_id_only_from_the_last_page() -> None:
    changes = (Change(9, "message_added", "m", "t"), Change(10, "message_added", "n", "t"))
    assert next_cursor(5, HistoryPage(changes, "more", 99)) == 10
    assert next_cursor(5, HistoryPage((), "more", 99)) == 5
    assert next_cursor(5, HistoryPage(changes, None, 99)) == 99
    assert next_cursor(100, HistoryPage(changes, None, 99)) == 100

"""The mailbox against a Gmail that behaves like the real one, traps included."""

from datetime import timedelta

import pytest

from domain.jobs.failures import CallState, Conflict, Failure, Gone, Scope, Throttled, Transient, Unauthorised
from domain.mail.mailbox import DRAFT, INBOX, SENT, TRASH, UNREAD
from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import FaultOrder, GmailAccount, GmailControl
from tests.doubles.factories import unmetered

LETTER = (
    b"From: Ana <ana@example.org>\r\nTo: reader@example.com\r\nSubject: Lunch?\r\nMessage-ID: <1@example.org>\r\n"
    b"\r\nFriday?\r\n"
)
REPLY = (
    b"From: reader@example.com\r\nTo: ana@example.org\r\nSubject: Re: Lunch?\r\nMessage-ID: <mine@example.com>\r\n"
    b"In-Reply-To: <1@example.org>\r\nReferences: <1@example.org>\r\n\r\nYes.\r\n"
)


def test_a_message_arrives_through_history_and_is_read(mailbox: GmailMailbox, account: GmailAccount) -> None:
    start = mailbox.profile().history_id
    place = account.deliver(LETTER)
    page = mailbox.history(start)
    assert [(change.kind, change.message_id) for change in page.changes] == [("message_added", place.message_id)]
    assert page.changes[0].history_id > start
    assert page.history_id == mailbox.profile().history_id
    message = mailbox.message(place.message_id)
    assert message.raw == LETTER
    assert message.label_ids == {INBOX, UNREAD}
    assert mailbox.message_facts(place.message_id).headers["message-id"] == "<1@example.org>"
    assert [each.message_id for each in mailbox.thread(place.thread_id).messages] == [place.message_id]
    assert [each.message_id for each in mailbox.search("from:ana", label_ids=[INBOX]).messages] == [place.message_id]


def test_a_page_without_history_leads_on(mailbox: GmailMailbox, account: GmailAccount) -> None:
    start = mailbox.profile().history_id
    account.deliver(LETTER)
    account.blank_history_pages(1)
    blank = mailbox.history(start)
    assert (blank.changes, blank.next_page is None) == ((), False)
    assert len(mailbox.history(start, blank.next_page).changes) == 1


def test_expired_history_is_gone(mailbox: GmailMailbox, account: GmailAccount) -> None:
    start = mailbox.profile().history_id
    account.deliver(LETTER)
    account.expire_history()
    with pytest.raises(Gone):
        mailbox.history(start)


def test_a_message_not_yet_visible_is_gone_and_then_there(mailbox: GmailMailbox, account: GmailAccount) -> None:
    place = account.deliver(LETTER, hidden_gets=1)
    with pytest.raises(Gone):
        mailbox.message(place.message_id)
    assert mailbox.message(place.message_id).raw == LETTER


def test_labels_are_made_once_and_moved(mailbox: GmailMailbox, account: GmailAccount) -> None:
    place = account.deliver(LETTER)
    made = mailbox.create_label("Postroom/Done")
    with pytest.raises(Conflict):
        mailbox.create_label("postroom/done")
    assert made in mailbox.labels()
    assert mailbox.modify_message(place.message_id, add=[made.label_id], remove=[INBOX]) == {made.label_id, UNREAD}
    mailbox.modify_thread(place.thread_id, remove=[made.label_id])
    assert mailbox.message_facts(place.message_id).label_ids == {UNREAD}


def test_the_trash_takes_a_message_and_gives_it_back(mailbox: GmailMailbox, account: GmailAccount) -> None:
    place = account.deliver(LETTER)
    start = mailbox.profile().history_id
    assert mailbox.trash_message(place.message_id) == {TRASH, UNREAD}
    assert mailbox.untrash_message(place.message_id) == {UNREAD}
    account.turn(trash_keeps_inbox=True, untrash_gives_inbox=True)
    mailbox.modify_message(place.message_id, add=[INBOX])
    assert mailbox.trash_message(place.message_id) == {INBOX, TRASH, UNREAD}
    assert mailbox.untrash_message(place.message_id) == {INBOX, UNREAD}
    kinds = [(change.kind, set(change.label_ids)) for change in mailbox.history(start).changes]
    assert kinds == [
        ("labels_added", {TRASH}),
        ("labels_removed", {INBOX}),
        ("labels_removed", {TRASH}),
        ("labels_added", {INBOX}),
        ("labels_added", {TRASH}),
        ("labels_removed", {TRASH}),
    ]
    for call in (mailbox.trash_message, mailbox.untrash_message):
        with pytest.raises(Gone):
            call("0" * 16)


def test_a_message_is_deleted_for_good_with_the_full_scope_only(mailbox: GmailMailbox, account: GmailAccount) -> None:
    place = account.deliver(LETTER)
    with pytest.raises(Unauthorised) as refused:
        mailbox.delete_message(place.message_id)
    assert refused.value.code == "gmail.insufficientPermissions"
    account.grant("https://mail.google.com/")
    start = mailbox.profile().history_id
    mailbox.delete_message(place.message_id)
    assert [change.kind for change in mailbox.history(start).changes] == ["message_deleted"]
    with pytest.raises(Gone):
        mailbox.delete_message(place.message_id)


def test_a_draft_lives_is_edited_and_is_sent_once(mailbox: GmailMailbox, account: GmailAccount) -> None:
    place = account.deliver(LETTER)
    made = mailbox.create_draft(REPLY, thread_id=place.thread_id)
    assert made.is_draft
    edited = mailbox.update_draft(made.draft_id, REPLY.replace(b"Yes", b"No"), thread_id=place.thread_id)
    assert (edited.draft_id, edited.thread_id) == (made.draft_id, place.thread_id)
    assert edited.message_id != made.message_id
    assert mailbox.draft(made.draft_id).label_ids == {DRAFT}
    assert [each.draft_id for each in mailbox.drafts()[0]] == [made.draft_id]
    sent = mailbox.send_draft(made.draft_id)
    assert sent.thread_id == place.thread_id
    assert sent.label_ids == {SENT}
    assert mailbox.message_facts(sent.message_id).headers["message-id"].endswith("@mail.gmail.com>")
    for again in (mailbox.send_draft, mailbox.draft, mailbox.delete_draft):
        with pytest.raises(Gone):
            again(made.draft_id)
    assert mailbox.drafts() == ((), None)


def test_a_draft_is_discarded(mailbox: GmailMailbox, account: GmailAccount) -> None:
    made = mailbox.create_draft(REPLY, thread_id=account.deliver(LETTER).thread_id)
    mailbox.delete_draft(made.draft_id)
    assert account.state().drafts == []


def test_watch_starts_and_stops(mailbox: GmailMailbox, control: GmailControl) -> None:
    watch = mailbox.watch("projects/postroom/topics/gmail")
    assert watch.history_id == mailbox.profile().history_id
    mailbox.stop_watch()
    assert [call.status for call in control.journal("stop")] == [204]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (FaultOrder(operation="drafts.send", drop="after"), "gmail.connection_lost"),
        (FaultOrder(operation="drafts.send", drop="before"), "gmail.connection_lost"),
        (FaultOrder(operation="drafts.send", hang_s=30), "gmail.timeout"),
        (
            FaultOrder(operation="drafts.send", status=503, reason="backendError", after_execution=True),
            "gmail.backendError",
        ),
    ],
)
def test_a_send_without_a_trustworthy_answer_is_in_doubt_and_happens_once(
    mailbox: GmailMailbox, account: GmailAccount, control: GmailControl, fault: FaultOrder, code: str
) -> None:
    made = mailbox.create_draft(REPLY, thread_id=account.deliver(LETTER).thread_id)
    control.order(fault)
    with (
        GmailMailbox(
            account=account.email, access_token="access-1", timeout_s=0.5, meter=unmetered, endpoint=control.url
        ) as hasty,
        pytest.raises(Transient) as caught,
    ):
        hasty.send_draft(made.draft_id)
    assert (caught.value.code, caught.value.call_state) == (code, CallState.IN_DOUBT)
    assert len(control.journal("drafts.send")) == 1
    assert len(account.state().labelled(SENT)) == (0 if fault.drop == "before" else 1)


def test_a_read_whose_answer_is_lost_is_read_again(mailbox: GmailMailbox, control: GmailControl) -> None:
    control.order(FaultOrder(operation="getProfile", drop="after"))
    assert mailbox.profile().email == "reader@example.com"
    assert len(control.journal("getProfile")) == 2


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "failedPrecondition", Transient),
        (401, "authError", Unauthorised),
        (403, "userRateLimitExceeded", Throttled),
        (403, "dailyLimitExceeded", Throttled),
        (403, "insufficientPermissions", Unauthorised),
        (500, "backendError", Transient),
    ],
)
def test_an_ordered_refusal_is_one_call_and_its_failure(
    mailbox: GmailMailbox, control: GmailControl, status: int, reason: str, kind: type[Failure]
) -> None:
    control.order(FaultOrder(status=status, reason=reason))
    with pytest.raises(kind) as caught:
        mailbox.labels()
    assert caught.value.code == f"gmail.{reason}"
    assert len(control.journal("labels.list")) == 1


@pytest.mark.parametrize("status", [403, 429])
def test_an_exhausted_quota_parks_the_account(mailbox: GmailMailbox, account: GmailAccount, status: int) -> None:
    place = account.deliver(LETTER)
    account.turn(quota_per_minute=25, quota_status=status)
    mailbox.message(place.message_id)
    with pytest.raises(Throttled) as caught:
        mailbox.message(place.message_id)
    assert caught.value.scope is Scope.ACCOUNT
    assert timedelta(seconds=50) < caught.value.retry_after <= timedelta(seconds=60)


def test_a_dead_access_token_is_not_renewed_by_itself(
    mailbox: GmailMailbox, account: GmailAccount, control: GmailControl
) -> None:
    account.expire_access()
    with pytest.raises(Unauthorised) as caught:
        mailbox.profile()
    assert (caught.value.code, caught.value.account) == ("gmail.authError", account.email)
    assert [call.operation for call in control.journal()] == ["getProfile"]

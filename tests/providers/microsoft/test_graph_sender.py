"""Mail by Graph on its emulator: a draft once and its sending once, whatever is lost, late or renamed."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from domain.jobs.effects import CannotTell, Found, NotFound
from domain.jobs.failures import (
    CallState,
    Failure,
    Gone,
    InFlight,
    Scope,
    Throttled,
    Transient,
)
from domain.payloads.mail_address import Address
from providers.microsoft.sender import LOOK_AGAIN, ON_ITS_WAY, GraphSender
from providers.ports.email import DraftRef
from sandbox.emulator.fault_order import FaultOrder
from sandbox.microsoft.control import MicrosoftControl
from tests.providers.emails import ADA, make_email
from tests.providers.microsoft.conftest import MAILBOX, open_sender

MAIL = make_email()
BULK = make_email(reference="bulk/1", html="<p>Hello</p>", headers={"List-Unsubscribe": "<https://example.com/u/1>"})
"""A mail that only MIME can say."""
NOW = datetime.now(UTC)


def test_a_draft_is_made_sent_and_found_again(control: MicrosoftControl, sender: GraphSender) -> None:
    draft = sender.create_draft(MAIL)
    assert sender.find_draft(MAIL) == draft
    assert sender.find_sent(draft, since=NOW, now=NOW) == NotFound()
    sender.send_draft(draft)
    (sent,) = control.sent(MAILBOX)
    assert sent["mail"]["message_id"] == draft.message_id
    assert sender.find_sent(draft, since=NOW, now=NOW) == Found(
        {"provider_id": sent["id"], "message_id": draft.message_id}
    )


@pytest.mark.parametrize("email", [MAIL, BULK])
@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("changes", [True, False])
def test_whatever_exchange_renames_a_sent_mail_is_found(
    control: MicrosoftControl, sender: GraphSender, email: object, keeps: bool, changes: bool
) -> None:
    """https://github.com/microsoftgraph/microsoft-graph-docs/issues/1533, https://github.com/microsoftgraph/microsoft-graph-docs/issues/6256."""
    control.turn(MAILBOX, ids_change=changes, keeps_message_id=keeps)
    draft = sender.create_draft(email)  # type: ignore[arg-type]  # one of the two above
    sender.send_draft(draft)
    (sent,) = control.sent(MAILBOX)
    assert (sent["id"] == draft.draft_id) is not changes
    found = sender.find_sent(draft, since=NOW, now=NOW)
    assert isinstance(found, Found)
    assert found.result["provider_id"] == sent["id"]
    unknown = DraftRef(draft.draft_id, "", draft.reference)  # by the property alone
    assert sender.find_sent(unknown, since=NOW, now=NOW) == Found(
        {"provider_id": sent["id"], "message_id": sent["mail"]["message_id"]}
    )


def test_what_is_nowhere_is_on_its_way_for_five_minutes_and_then_nobody_can_tell(
    control: MicrosoftControl, sender: GraphSender
) -> None:
    control.turn(MAILBOX, sent_after_s=3600)
    draft = sender.create_draft(MAIL)
    sender.send_draft(draft)
    for waited, wait in ((0, LOOK_AGAIN), (ON_ITS_WAY.total_seconds() - 10, timedelta(seconds=10))):
        with pytest.raises(InFlight) as raised:
            sender.find_sent(draft, since=NOW, now=NOW + timedelta(seconds=waited))
        assert raised.value.wait == wait
    assert isinstance(sender.find_sent(draft, since=NOW, now=NOW + ON_ITS_WAY), CannotTell)
    control.advance_clock(3600)
    control.expire_tokens()
    with pytest.raises(Transient):
        sender.find_sent(draft, since=NOW, now=NOW + ON_ITS_WAY)
    assert isinstance(sender.find_sent(draft, since=NOW, now=NOW + ON_ITS_WAY), Found)


@pytest.mark.parametrize(
    "lost", [FaultOrder(operation="messages.send", status=504, after_execution=True),
             FaultOrder(operation="messages.send", status=503, after_execution=True, headers={"Retry-After": "9"}),
             FaultOrder(operation="messages.send", drop="after")]
)  # fmt: skip
def test_a_504_after_the_acceptance_leaves_doubt_that_sent_items_resolve(
    control: MicrosoftControl, sender: GraphSender, lost: FaultOrder
) -> None:
    """https://learn.microsoft.com/en-us/answers/questions/2286986."""
    draft = sender.create_draft(MAIL)
    control.order(lost)
    with pytest.raises(Failure) as raised:
        sender.send_draft(draft)
    assert raised.value.call_state is CallState.IN_DOUBT
    assert isinstance(sender.find_sent(draft, since=NOW, now=NOW), Found)
    assert len(control.sent(MAILBOX)) == 1


def test_a_send_that_never_arrived_is_still_a_draft(control: MicrosoftControl, sender: GraphSender) -> None:
    draft = sender.create_draft(MAIL)
    control.order(FaultOrder(operation="messages.send", drop="before"))
    with pytest.raises(Transient):
        sender.send_draft(draft)
    assert sender.find_sent(draft, since=NOW, now=NOW) == NotFound()


@pytest.mark.parametrize("email", [MAIL, BULK])
def test_a_draft_whose_answer_was_lost_is_found_and_not_made_again(
    control: MicrosoftControl, sender: GraphSender, email: object
) -> None:
    control.order(FaultOrder(operation="messages.create", drop="after"))
    with pytest.raises(Transient) as raised:
        sender.create_draft(email)  # type: ignore[arg-type]  # one of the two above
    assert raised.value.call_state is CallState.IN_DOUBT
    draft = sender.find_draft(email)  # type: ignore[arg-type]  # as above
    (kept,) = control.drafts(MAILBOX)
    assert draft is not None
    assert draft.draft_id == kept["id"]
    assert list(kept["properties"].values()) == [draft.reference]


def test_a_draft_from_mime_without_a_mark_gets_it_when_it_is_found(
    control: MicrosoftControl, sender: GraphSender
) -> None:
    control.order(FaultOrder(operation="messages.update", drop="before"))
    with pytest.raises(Transient) as raised:
        sender.create_draft(BULK)
    assert raised.value.call_state is CallState.IN_DOUBT
    assert control.drafts(MAILBOX)[0]["properties"] == {}
    draft = sender.find_draft(BULK)
    assert draft is not None
    sender.send_draft(draft)
    assert isinstance(sender.find_sent(DraftRef("gone=", "", BULK.reference), since=NOW, now=NOW), Found)


def test_what_fails_after_the_draft_is_made_leaves_doubt(control: MicrosoftControl, sender: GraphSender) -> None:
    control.order(FaultOrder(operation="messages.update", status=429, headers={"Retry-After": "7"}))
    with pytest.raises(Throttled) as raised:
        sender.create_draft(BULK)
    assert raised.value.call_state is CallState.IN_DOUBT


def test_a_draft_that_was_not_made_is_not_found(sender: GraphSender) -> None:
    sender.create_draft(make_email(reference="another"))
    assert sender.find_draft(MAIL) is None
    assert sender.find_draft(BULK) is None


def test_a_draft_that_a_person_deleted_is_not_sent(control: MicrosoftControl, sender: GraphSender) -> None:
    with pytest.raises(Gone) as raised:
        sender.send_draft(DraftRef("gone=", "<a@example.com>", "email-1"))
    assert raised.value.code == "microsoft.ErrorItemNotFound"
    assert control.sent(MAILBOX) == []


def test_a_reference_with_quotation_marks_is_no_filter_of_its_own(sender: GraphSender) -> None:
    odd = make_email(reference="a'or'b")
    draft = sender.create_draft(odd)
    assert sender.find_draft(odd) == draft
    assert sender.find_draft(make_email(reference="a")) is None


def test_a_404_of_the_mailbox_proves_nothing_of_the_mail(control: MicrosoftControl, sender: GraphSender) -> None:
    draft = sender.create_draft(MAIL)
    control.order(FaultOrder(operation="messages.get", status=404, reason="ErrorInvalidUser"))
    with pytest.raises(Throttled) as raised:
        sender.find_sent(draft, since=NOW, now=NOW + ON_ITS_WAY)
    assert (raised.value.code, raised.value.scope) == ("microsoft.ErrorInvalidUser", Scope.ORG)


def test_a_header_that_graph_refuses_goes_by_mime(control: MicrosoftControl, sender: GraphSender) -> None:
    """https://learn.microsoft.com/en-us/graph/api/user-post-messages."""
    plain = make_email(headers={"X-Campaign": "7"})
    many = make_email(reference="many", headers={f"X-{number}": "v" for number in range(6)})
    for email in (plain, BULK, many):
        sender.send_draft(sender.create_draft(email))
    made = [call.summary["mime"] for call in control.journal("messages.create")]
    assert made == [False, True, True]
    by_headers = [one["mail"]["headers"] for one in control.sent(MAILBOX)]
    assert by_headers == [dict(one.headers) for one in (plain, BULK, many)]


def test_both_bodies_and_everybody_arrive(control: MicrosoftControl, sender: GraphSender) -> None:
    people = {
        "cc": (Address("Café, GmbH", "cafe@example.org"),),
        "bcc": (Address("", "quiet@example.org"),),
        "reply_to": (Address("", "replies@example.com"), Address("", "more@example.com")),
        "subject": "Grüße 🚀",
    }
    for email in (make_email(**people), make_email(reference="b", html="<p>Hello</p>", **people)):
        sender.send_draft(sender.create_draft(email))
    as_json, as_mime = (one["mail"] for one in control.sent(MAILBOX))
    for mail in (as_json, as_mime):
        assert (mail["subject"], mail["text"]) == ("Grüße 🚀", MAIL.text)
        assert mail["to"] == [[ADA.name, ADA.address]]
        assert mail["cc"] == [["Café, GmbH", "cafe@example.org"]]
        assert mail["bcc"] == [["", "quiet@example.org"]]
        assert mail["reply_to"] == [["", "replies@example.com"], ["", "more@example.com"]]
        assert mail["sender"] == ["The Example Desk", "desk@example.com"]
    assert (as_json["html"], as_mime["html"].strip()) == (None, "<p>Hello</p>")


def test_the_fifth_call_at_once_waits_outside(control: MicrosoftControl, sender: GraphSender) -> None:
    drafts = [sender.create_draft(make_email(reference=f"r{number}")) for number in range(5)]
    control.order(FaultOrder(operation="messages.send", times=4, hang_s=20))
    with ThreadPoolExecutor(4) as pool, open_sender(control.url, timeout_s=1.5) as slow:
        slow.find_draft(MAIL)  # gets the token
        under_way = [pool.submit(slow.send_draft, draft) for draft in drafts[:4]]
        control.wait_for("messages.send", 4)
        with pytest.raises(Throttled) as raised:
            sender.send_draft(drafts[4])
        assert [type(one.exception()) for one in under_way] == [Transient] * 4
    assert (raised.value.scope, raised.value.provider) == (Scope.ORG, "microsoft")
    assert raised.value.retry_after == timedelta(seconds=3)
    assert len(control.sent(MAILBOX)) == 4

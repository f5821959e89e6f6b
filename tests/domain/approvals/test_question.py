"""A question is bounded and on one line, whatever a sender has written."""

import unicodedata
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.approvals.decision import Refusal
from domain.approvals.question import (
    LONGEST_RECIPIENTS,
    LONGEST_VALUE,
    OUTCOMES,
    WORDS,
    AskedAction,
    one_line,
    outcome_of,
    question_of,
    refusal_words,
    shown_address,
)
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.status import MOVES, ActionStatus

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
KEY = "sk-ant-" + "a1B2c3D4" * 4


def asked(**changes: object) -> AskedAction:
    given_ = {
        "action_id": UUID(int=5),
        "kind": ActionKind.FORWARD,
        "parameters": {"to": ["a@example.org"]},
        "reasons": ["forward is dangerous"],
        "expires_at": NOON,
        "mailbox": "me@example.com",
        "sender": "Ada <ada@example.org>",
        "subject": "Lunch?",
    }
    return AskedAction(**(given_ | changes))  # type: ignore[arg-type]  # fields by name


@given(
    subject=st.text(max_size=5000),
    sender=st.text(max_size=500),
    parameters=st.dictionaries(
        st.text(min_size=1, max_size=300), st.text(max_size=5000) | st.lists(st.text()), max_size=9
    ),
)
def test_any_mail_makes_a_bounded_question_of_visible_lines(
    subject: str, sender: str, parameters: dict[str, object]
) -> None:
    made = question_of(asked(subject=subject, sender=sender, parameters=parameters), number=0)
    assert len(made.facts) <= 8
    for fact in made.facts:
        assert len(fact.value) <= (LONGEST_RECIPIENTS if "@" in fact.value else LONGEST_VALUE)
        assert len(fact.name) <= 80
        assert not any(unicodedata.category(letter) in {"Cc", "Cf", "Zl", "Zp"} for letter in fact.value + fact.name)


def test_text_that_turns_or_hides_is_taken_out() -> None:
    assert one_line("pay\u202e fdp.exe\u200b\nnow\u2028!") == "pay fdp.exe now !"
    assert one_line("\u200b" * 20_000 + "pay") == "pay"


def test_what_looks_like_a_secret_is_not_shown() -> None:
    made = question_of(asked(subject=f"key {KEY}"), number=0)
    assert KEY not in str(made)
    assert "[redacted]" in str(made)


def test_of_many_recipients_some_are_named_and_all_are_counted() -> None:
    made = question_of(asked(parameters={"to": [f"a{n}@example.org" for n in range(20)]}), number=0)
    (to,) = [one for one in made.facts if one.name.startswith("To")]
    assert to.name == "To (20)"
    assert to.value.count("@") == 4


LONG = "accounts.payable.of.the.northern.branch." * 6
DOMAINS = ["evil.example", f"{'sub.' * 30}evil.example", f"{'x' * 60}.{'y' * 60}.{'z' * 60}.evil.example"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_long_address_is_cut_in_the_middle_and_its_domain_never(domain: str) -> None:
    address = f"{LONG[:200]}@{domain}"
    made = question_of(
        asked(sender=address, mailbox=address, parameters={"to": [address], "cc": ["b@example.org", address]}), number=0
    )
    shown = {fact.name: fact.value for fact in made.facts}
    for name in ("Mailbox", "From", "To"):
        assert shown[name].startswith("accounts")
        assert shown[name].endswith(f"@{domain}")
        assert "…" in shown[name]
    assert shown.get("Cc", domain).endswith(domain)
    assert outcome_of(ActionStatus.DENIED, address, None).endswith(f"@{domain}")
    assert shown_address("ada@example.org") == "ada@example.org"


def test_of_several_long_addresses_each_that_is_named_is_named_whole() -> None:
    addresses = [f"{place}{LONG[:60]}@{DOMAINS[1]}" for place in range(4)]
    made = question_of(asked(parameters={"to": addresses}), number=0)
    (to,) = [one for one in made.facts if one.name.startswith("To")]
    assert to.name == "To (4)"
    assert all(one.endswith(f"@{DOMAINS[1]}") for one in to.value.split(", "))
    assert len(to.value) <= LONGEST_RECIPIENTS


def test_files_are_shown_by_name_and_size_and_a_long_name_by_its_end() -> None:
    files = [{"filename": "offer.pdf", "size": 4, "sha256": "0" * 64}, {"filename": "x" * 90 + ".pdf.exe", "size": 7}]
    made = question_of(asked(parameters={"attachments": files}), number=0)
    (shown,) = (fact.value for fact in made.facts if fact.name == "Attachments")
    assert shown == "offer.pdf (4 bytes), …" + "x" * 31 + ".pdf.exe (7 bytes)"


def test_of_a_long_text_the_beginning_is_shown_and_its_length_said() -> None:
    made = question_of(asked(parameters={"text": "word " * 400}), number=0)
    assert any(one.name == "Text (2000 characters)" and one.value.endswith("…") for one in made.facts)


def test_the_reminder_says_that_it_is_one() -> None:
    assert question_of(asked(), number=1).title == "Reminder: forward still waits for approval"


ANNA = "anna@example.org"


def test_the_end_names_who_and_why() -> None:
    assert outcome_of(ActionStatus.DENIED, ANNA, "not\nnow") == f"Denied by {ANNA}: not now"
    assert outcome_of(ActionStatus.CANCELED, ANNA, "disconnected") == "Canceled, and not executed: disconnected"
    assert outcome_of(ActionStatus.EXPIRED, None, None) == "Expired: nobody decided in time. It is not executed."


def test_an_action_that_moved_on_was_approved() -> None:
    assert outcome_of(ActionStatus.DONE, ANNA, None) == f"Approved by {ANNA}"
    late = f"Approved by {ANNA}, but not begun in time. It is not executed."
    assert outcome_of(ActionStatus.EXPIRED, ANNA, "fine") == late


def test_every_state_has_its_words_and_only_what_can_follow_an_approval_is_called_approved() -> None:
    after, found = {ActionStatus.APPROVED}, set[ActionStatus]()
    while after - found:
        found |= after
        after = {to for before, to in MOVES if before in found}
    called = {state for state in ActionStatus if outcome_of(state, None, None).startswith("Approved")}
    assert OUTCOMES.keys() == set(ActionStatus)
    assert called == found - {ActionStatus.EXPIRED, ActionStatus.CANCELED}


def test_every_refusal_has_its_words_and_an_outcome_is_told_where_there_is_one() -> None:
    assert WORDS.keys() == set(Refusal)
    told = {refusal for refusal in Refusal if refusal_words(refusal, "Denied").endswith(" Denied")}
    assert told == {Refusal.DECIDED, Refusal.ENDED}

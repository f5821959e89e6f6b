"""A question is bounded and on one line, whatever a sender has written."""

import unicodedata
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.approvals.decision import ApprovalStanding, ApprovalState, Refusal
from domain.approvals.question import (
    LONGEST_RECIPIENTS,
    LONGEST_SHOWN,
    LONGEST_VALUE,
    MOST_MEMBERS,
    OUTCOMES,
    WORDS,
    AskedAction,
    AskedNode,
    node_question,
    one_line,
    outcome_of,
    question_of,
    refusal_words,
    shown_address,
)
from domain.mail.actions.kinds import ActionKind

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
    assert outcome_of(ended(ApprovalState.DENIED, address)).endswith(f"@{domain}")
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=300), inner, max_size=9),
    max_leaves=12,
)


@given(question=st.text(max_size=2000), shown=JSON, number=st.sampled_from([0, 1]))
def test_any_value_that_a_node_shows_makes_a_bounded_question_of_visible_lines(
    question: str, shown: object, number: int
) -> None:
    asked = AskedNode(UUID(int=5), "morning-brief", "approve", UUID(int=6), question, shown, NOON)
    made = node_question(asked, number=number)
    assert 0 < len(made.title) <= LONGEST_VALUE + len("Reminder: ")
    assert len(made.facts) <= MOST_MEMBERS + 4
    for fact in made.facts:
        assert len(fact.value) <= LONGEST_SHOWN
        assert 0 < len(fact.name) <= 80
        assert not any(unicodedata.category(letter) in {"Cc", "Cf", "Zl", "Zp"} for letter in fact.value + fact.name)
    assert KEY not in str(node_question(asked_node(shown={"key": KEY}), number=0))


def asked_node(**changes: object) -> AskedNode:
    given_ = {
        "approval_id": UUID(int=5), "workflow": "morning-brief", "node": "approve", "run_id": UUID(int=6),
        "question": "Send the brief?", "shown": None, "expires_at": NOON,
    }  # fmt: skip
    return AskedNode(**(given_ | changes))  # type: ignore[arg-type]  # fields by name


def test_an_object_is_shown_by_its_members_and_what_is_left_out_is_counted() -> None:
    made = node_question(asked_node(shown={f"m{n}": n for n in range(MOST_MEMBERS + 2)}), number=0)
    shown = [(one.name, one.value) for one in made.facts][: MOST_MEMBERS + 1]
    assert shown == [*((f"m{n}", str(n)) for n in range(MOST_MEMBERS)), ("More", "2 others")]
    (text, *_) = node_question(asked_node(shown="word " * 400), number=0).facts
    assert (text.name, text.value[-1], len(text.value)) == ("Shown (2000 characters)", "…", LONGEST_SHOWN)


ANNA = "anna@example.org"


def ended(state: ApprovalState, by: str | None = ANNA, why: str | None = None) -> ApprovalStanding:
    return ApprovalStanding(state, NOON, by, why)


def test_the_end_names_who_and_why() -> None:
    assert outcome_of(ended(ApprovalState.DENIED, ANNA, "not\nnow")) == f"Denied by {ANNA}: not now"
    assert outcome_of(ended(ApprovalState.CANCELED, ANNA, "disconnected")) == "Canceled: disconnected"
    assert outcome_of(ended(ApprovalState.EXPIRED, None)) == OUTCOMES[ApprovalState.EXPIRED]
    late = f"Approved by {ANNA}, but not begun in time. It is not executed."
    assert outcome_of(ended(ApprovalState.LAPSED, ANNA, "fine")) == late


def test_every_state_has_its_words() -> None:
    assert OUTCOMES.keys() == set(ApprovalState)


def test_every_refusal_has_its_words_and_an_outcome_is_told_where_there_is_one() -> None:
    assert WORDS.keys() == set(Refusal)
    told = {refusal for refusal in Refusal if refusal_words(refusal, "Denied").endswith(" Denied")}
    assert told == {Refusal.DECIDED, Refusal.ENDED}

"""Whom a reply goes to: nobody whom a stranger brought along (finding E9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.replies.recipients import MOST_RECIPIENTS, recipients, took_part
from tests.domain.mail.messages import make_message


def mail_of(sender: str, **headers: str) -> ParsedMessage:
    return make_message(**{"from": sender, **headers})


OWN = frozenset({"owner@example.com"})
NAMES = st.sampled_from(["ada", "bob", "cyd", "dan", "eve", "owner"])
ADDRESSES = st.lists(NAMES.map(lambda name: f"{name}@example.com"), max_size=6)
MESSAGES = st.builds(
    lambda sender, to, cc, reply_to: mail_of(
        f"{sender}@example.com", to=", ".join(to), cc=", ".join(cc), reply_to=", ".join(reply_to)
    ),
    NAMES,
    ADDRESSES,
    ADDRESSES,
    ADDRESSES,
)


def answered(asked: ParsedMessage, *thread: ParsedMessage) -> list[str]:
    return [one.address for one in recipients(asked, [*thread, asked], OWN)]


def test_without_a_reply_to_the_sender_is_answered() -> None:
    assert answered(make_message()) == ["ada@example.org"]


def test_one_reply_to_is_answered_though_nobody_knows_it() -> None:
    assert answered(make_message(reply_to="Desk <desk@example.net>, desk@EXAMPLE.net")) == ["desk@example.net"]


def test_several_who_took_part_are_answered() -> None:
    mine = mail_of("owner@example.com", to="ada@example.org", cc="bob@example.org")
    asked = make_message(reply_to="ada@example.org, bob@example.org")
    assert answered(asked, mine) == ["ada@example.org", "bob@example.org"]


def test_ten_strangers_are_left_to_a_person() -> None:
    strangers = ", ".join(f"stranger{number}@example.net" for number in range(10))
    with pytest.raises(Invalid, match="reply_to: "):
        answered(make_message(reply_to=strangers))
    with pytest.raises(Invalid, match="reply_to"):
        answered(make_message(reply_to=strangers, to=f"owner@example.com, {strangers}", cc=strangers))


def test_one_stranger_among_those_who_took_part_is_left_to_a_person() -> None:
    with pytest.raises(Invalid, match="reply_to"):
        answered(make_message(reply_to="ada@example.org, eve@example.net"))


def test_nobody_writes_to_more_than_a_few_by_himself() -> None:
    many = ", ".join(f"friend{number}@example.org" for number in range(MOST_RECIPIENTS + 1))
    mine = mail_of("owner@example.com", to=many)
    with pytest.raises(Invalid, match=f"names {MOST_RECIPIENTS + 1} addresses"):
        answered(make_message(reply_to=many), mine)


def test_ones_own_message_is_followed_up_to_those_it_went_to() -> None:
    mine = mail_of("Owner@Example.com", to="ada@example.org, owner@example.com", cc="bob@example.org")
    assert answered(mine) == ["ada@example.org"]
    with pytest.raises(Invalid, match="to: names nobody"):
        answered(mail_of("owner@example.com", to=""))


@given(st.lists(MESSAGES, min_size=1, max_size=4))
def test_whoever_is_written_to_is_the_sender_the_one_reply_to_or_took_part(thread: list[ParsedMessage]) -> None:
    asked = thread[-1]
    assert asked.from_ is not None
    try:
        chosen = recipients(asked, thread, OWN)
    except Invalid:
        return
    keys = [one.key for one in chosen]
    assert 1 <= len(keys) == len(set(keys)) <= MOST_RECIPIENTS
    assert not set(keys) & OWN
    if len(keys) > 1 and asked.from_.key not in OWN:
        assert set(keys) <= took_part(thread, OWN)
    named = {asked.from_.key, *(one.key for one in (*asked.reply_to, *asked.to))}
    assert set(keys) <= named


@given(MESSAGES, ADDRESSES, ADDRESSES)
def test_a_stranger_cannot_bring_anybody_in(message: ParsedMessage, to: list[str], cc: list[str]) -> None:
    """What a message of somebody else names in To and Cc changes nothing about who took part."""
    stranger = mail_of("eve@example.net", to=", ".join(to), cc=", ".join(cc))
    assert took_part([message, stranger], OWN) == took_part([message], OWN) | {"eve@example.net"}

"""What callbacks mean, and that news of a delivery never go back."""

from itertools import permutations

import pytest

from domain.notifications.delivery import SUPPRESSING, DeliveryState, states_before
from domain.notifications.receipts import (
    START_WORDS,
    STOP_WORDS,
    Receipt,
    SmsReply,
    email_receipt,
    sms_receipt,
    sms_reply,
)

S = DeliveryState


def after(*news: DeliveryState) -> DeliveryState:
    state = S.QUEUED
    for one in news:
        if state in states_before(one):
            state = one
    return state


def test_receipts_in_any_order_end_alike() -> None:
    for order in permutations([S.HANDED_OVER, S.DELIVERED, S.DELIVERED]):
        assert after(*order) is S.DELIVERED
    for order in permutations([S.HANDED_OVER, S.DELIVERED, S.FAILED]):
        assert after(*order) is S.FAILED
    assert after(S.UNKNOWN, S.DELIVERED) is S.DELIVERED, "a receipt ends the doubt"
    assert after(S.EXPIRED, S.DELIVERED) is S.EXPIRED


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({"MessageStatus": "sent"}, Receipt(S.HANDED_OVER)),
        ({"MessageStatus": "delivered"}, Receipt(S.DELIVERED)),
        ({"MessageStatus": "undelivered", "ErrorCode": "30003"}, Receipt(S.FAILED, "twilio.30003")),
        ({"MessageStatus": "failed", "ErrorCode": "21610"}, Receipt(S.FAILED, "twilio.21610", "stop")),
        ({"MessageStatus": "failed", "ErrorCode": "x\ny"}, Receipt(S.FAILED)),
        ({"MessageStatus": "receiving"}, None),
        ({}, None),
    ],
)
def test_what_twilio_says(fields: dict[str, str], meant: Receipt | None) -> None:
    assert sms_receipt(fields) == meant


PUBLISHED = {
    SmsReply.STOP: {"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"},
    SmsReply.START: {"START", "YES", "UNSTOP"},
}
"""Twilio's words, as its pages listed them on 2026-11-29: https://help.twilio.com/articles/223134027 and, of the two
that came on 2025-05-14, https://www.twilio.com/en-us/blog/update-to-fcc-s-sms-opt-out-keywords."""


def test_every_word_that_twilio_lists_is_heard_and_no_other() -> None:
    assert {SmsReply.STOP: {*STOP_WORDS}, SmsReply.START: {*START_WORDS}} == PUBLISHED
    for reply, words in PUBLISHED.items():
        for word in words:
            for said in (word, word.lower(), f" {word.title()}\n"):
                assert sms_reply({"Body": said}) is reply
            assert sms_reply({"Body": f"{word} please"}) is None
            assert sms_reply({"Body": "Schluss", "OptOutType": reply.value}) is reply, "a service's own word"
    assert sms_reply({"Body": "OPT OUT"}) is sms_reply({"Body": "HELP"}) is sms_reply({}) is None


@pytest.mark.parametrize(
    ("event", "meant"),
    [
        ({"type": "email.delivered", "data": {"email_id": "e1"}}, ("e1", Receipt(S.DELIVERED))),
        (
            {"type": "email.bounced", "data": {"email_id": "e1", "bounce": {"type": "Permanent"}}},
            ("e1", Receipt(S.FAILED, "resend.email.bounced", "bounce")),
        ),
        (
            {"type": "email.bounced", "data": {"email_id": "e1", "bounce": {"type": "Transient"}}},
            ("e1", Receipt(S.FAILED, "resend.email.bounced")),
        ),
        ({"type": "email.complained", "data": {"email_id": "e1"}}, ("e1", Receipt(None, None, "complaint"))),
        ({"type": "email.opened", "data": {"email_id": "e1"}}, None),
        ({"type": "email.delivered", "data": {"email_id": "x\n"}}, None),
        ({"type": ["email.delivered"], "data": {"email_id": "e1"}}, None),
        ({"type": "email.delivered", "data": []}, None),
    ],
)
def test_what_resend_says(event: dict[str, object], meant: tuple[str, Receipt] | None) -> None:
    assert email_receipt(event) == meant


def test_exactly_the_codes_that_mean_it_suppress() -> None:
    assert set(SUPPRESSING) == {"twilio.21610", "twilio.21211", "twilio.21614", "fcm.unregistered", "fcm.bad_token"}

"""Trying a rule says what it would have done with a message, and if nothing, why not."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.mail.rule_language.rule_file import read_rule_document
from domain.mail.rule_language.rules import TOO_COSTLY, Rule
from domain.mail.rule_language.trial import (
    BY_MODEL,
    LONGEST_SUBJECT,
    PastMail,
    RuleTrial,
    TriedMessage,
    TriedRule,
    try_rule,
)
from domain.mail.triage.automation import detect_automation
from domain.mail.triage.mail_facts import MailFacts
from domain.mail.triage.safety import SafetyEnforcer, SafetyPolicy
from tests.domain.mail.messages import make_message

CAREFUL = SafetyEnforcer(SafetyPolicy(confidence_floor=0.7))


def rule(when: dict[str, Any], then: dict[str, Any], **more: Any) -> Rule:  # noqa: ANN401 - words of the language
    rule_id = more.pop("rule_id", "tried")
    (found,) = read_rule_document({"name": rule_id, "when": when, "then": then, **more})
    assert isinstance(found, Rule)
    return found.model_copy(update={"rule_id": rule_id})


def facts(text: str = "please pay", **headers: str) -> MailFacts:
    message = make_message(text, **{"subject": "Invoice 7", "from": "ada@example.org"} | headers)
    return MailFacts(message, detect_automation(message))


def tried(when: dict[str, Any], then: dict[str, Any] | None = None, *others: Rule, **headers: str) -> TriedRule:
    return try_rule(rule(when, then or {"class": "fyi"}), others, facts(**headers), CAREFUL)


WHY_NOT = [
    ({"subject": "receipt"}, 'when: {"subject": "receipt"} does not hold'),
    ({"subject": "invoice", "from": "bob@example.org"}, 'when: {"from": "bob@example.org"} does not hold'),
    ({"not": {"subject": "invoice"}}, 'when.not: {"not": {"subject": "invoice"}} does not hold'),
    ({"any": [{"body": "x"}, {"label": "b"}]}, 'when.any: {"any": [{"body": "x"}, {"label": "b"}]} does not hold'),
    ({"body": "pay", "all": [{"body": "pay"}, {"label": "L"}]}, 'when.all[1]: {"label": "L"} does not hold'),
]  # fmt: skip


@pytest.mark.parametrize(("when", "reason"), WHY_NOT)
def test_a_miss_names_the_first_condition_that_does_not_hold(when: dict[str, Any], reason: str) -> None:
    found = tried(when)
    assert (found.matched, found.acts, found.reason) == (False, False, reason)


def test_a_match_shows_class_actions_and_verdicts() -> None:
    found = tried(
        {"subject": "invoice"}, {"class": "action_required", "actions": ["star", "delete"], "route": "agent:pay"}
    )
    assert (found.matched, found.acts, found.reason, found.note) == (True, True, "", "")
    assert (found.classification, found.route) == ("action_required", "agent:pay")
    assert [(one.action.kind, one.status) for one in found.actions] == [
        ("star", "queued"),
        ("delete", "approved_pending"),
    ]
    assert found.actions[1].reasons[0] == "delete is dangerous"


def test_where_the_model_decides_the_class_it_is_not_guessed() -> None:
    found = tried({"subject": "invoice"}, {"actions": ["star"]})
    assert (found.classification, found.note) == (None, BY_MODEL)
    assert [one.status for one in found.actions] == ["queued"]


def test_a_rule_that_comes_first_and_stops_is_named() -> None:
    first = rule({"subject": "invoice"}, {"class": "fyi"}, rule_id="first", priority=1)
    found = tried({"subject": "invoice"}, {"class": "action_required"}, first)
    assert (found.matched, found.acts, "'first'" in found.reason) == (True, False, True)
    let_on = first.model_copy(update={"stop": False})
    went_on = tried({"subject": "invoice"}, {"class": "action_required", "actions": ["star"]}, let_on)
    assert (went_on.acts, went_on.classification) == (True, "fyi")
    assert "fyi, not action_required" in went_on.note
    assert [one.action.kind for one in went_on.actions] == ["star"]


def test_a_saved_rule_is_not_in_its_own_way() -> None:
    saved = rule({"subject": "invoice"}, {"class": "fyi"})
    assert try_rule(saved, [saved], facts(), CAREFUL).acts


def test_a_rule_that_is_off_is_tried_as_if_it_were_on() -> None:
    off = rule({"subject": "invoice"}, {"class": "fyi"}, enabled=False)
    assert try_rule(off, [off], facts(), CAREFUL).acts


def test_automated_mail_keeps_its_class_and_gets_no_reply() -> None:
    then = {"class": "needs_response", "needs_reply": True}
    found = tried({"subject": "invoice"}, then, auto_submitted="auto-replied")
    assert (found.acts, found.classification) == (True, "notification")
    assert "not needs_response" in found.note


def test_a_forged_sender_sets_no_mail_off() -> None:
    found = tried({"subject": "invoice"}, {"actions": [{"forward": "bob@example.org"}]})
    assert not found.matched
    assert "sender" in found.reason


def test_a_rule_that_is_passed_over_says_so() -> None:
    costly = rule({"any": [{"body": {"matches": f"(a|b)*a(a|b){{{n}}}c"}} for n in range(200, 220)]}, {"class": "fyi"})
    found = try_rule(costly, [], facts("ab" * 50_000), CAREFUL)
    assert (found.matched, found.reason) == (False, f"it is passed over: {TOO_COSTLY}")


def test_a_trial_counts_and_shows_its_messages() -> None:
    now = datetime(2026, 11, 25, tzinfo=UTC)
    lines = [
        TriedMessage(PastMail(f"m{place}", "t", now, facts(subject="x" * 500)), tried({"subject": word}))
        for place, word in enumerate(("invoice", "receipt"))
    ]
    trial = RuleTrial(tuple(lines), complete=True)
    assert (trial.examined, trial.matched) == (2, 1)
    (shown,) = trial.shown(show_all=False)
    assert (shown["message_id"], shown["sender"], shown["matched"]) == ("m0", "ada@example.org", True)
    assert shown["subject"] == "x" * LONGEST_SUBJECT
    assert [one["message_id"] for one in trial.shown(show_all=True)] == ["m0", "m1"]

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.parsing.parsed_message import Attachment
from domain.mail.triage.automation import detect_automation
from domain.mail.triage.classification import Classification, DecisionSource
from domain.mail.triage.mail_facts import MailFacts
from domain.mail.triage.rule_work import MOST_WORK, TO_COMPILE, work_of
from domain.mail.triage.rules import DEEPEST_CONDITION, Rule, RuleMatch, evaluate_all, parse_rule
from domain.mail.triage.safe_pattern import compiled
from tests.domain.mail.messages import make_message


def evaluate(rules: list[Rule], facts: MailFacts) -> RuleMatch | None:
    return evaluate_all(rules, facts).match


def rule(condition: dict[str, Any], **changes: object) -> Rule:
    data = {"rule_id": "r1", "name": "a rule", "condition": condition, "decision": {"classification": "fyi"}}
    return parse_rule({**data, **changes})


def facts(body: str = "text", **headers: str) -> MailFacts:
    message = make_message(body, **headers)
    return MailFacts(message, detect_automation(message), label_ids=frozenset({"INBOX"}), age=timedelta(hours=5))


MESSAGE = facts(
    "please pay invoice 4711",
    **{"from": '"boss@example.com" <Ada@Mail.Example.org>'},
    to="owner@example.com",
    cc="team@example.com",
    subject="Invoice 4711",
    x_ticket="A-1",
)
WRAPPED = facts(
    "Please note that the payment is overdue since\nMonday. Please pay the\u00a0open invoice.\n\nTotal: 5",
    **{"from": "İnfo <info@BÜCHER.example>"},
    subject="=?utf-8?q?Toplant=C4=B1_=C4=B0STANBUL=E2=80=8B?=",
    x_note="ﬁrst  \u3000note",
)
LOOKS_ALIKE: list[tuple[dict[str, Any], bool]] = [
    ({"kind": "body", "contains": "overdue since Monday"}, True),
    ({"kind": "body", "contains": "the open INVOICE"}, True),
    ({"kind": "body", "contains": "the\u00a0open\ninvoice"}, True),
    ({"kind": "body", "contains": "theopen"}, False),
    ({"kind": "body", "pattern": "overdue since Monday"}, True),
    ({"kind": "body", "pattern": r"overdue.{1,30}pay the open invoice\.$"}, False),
    ({"kind": "body", "pattern": r"overdue.{1,30}pay the open invoice"}, True),
    ({"kind": "body", "pattern": r"(?m)^total: \d$"}, True),
    ({"kind": "body", "pattern": r"(?m)^monday\."}, True),
    ({"kind": "body", "pattern": r"invoice.{1,9}total"}, False),
    ({"kind": "subject", "contains": "istanbul"}, True),
    ({"kind": "subject", "contains": "İstanbul"}, True),
    ({"kind": "subject", "equals": "Toplanti istanbul"}, True),
    ({"kind": "subject", "pattern": "^TOPLANTI İSTANBUL$"}, True),
    ({"kind": "header", "name": "x-note", "equals": "First Note"}, True),
    ({"kind": "domain", "domains": ["bücher.example"]}, True),
    ({"kind": "domain", "domains": ["XN--BCHER-KVA.example"]}, True),
    ({"kind": "domain", "domains": ["bucher.example"]}, False),
    ({"kind": "domain", "domains": ["BÜCHER。EXAMPLE."]}, True),
    ({"kind": "sender", "addresses": ["INFO@bücher.example"]}, True),
    ({"kind": "sender", "addresses": ['"info"@xn--bcher-kva.example']}, True),
]


@pytest.mark.parametrize(("condition", "expected"), LOOKS_ALIKE)
def test_what_looks_the_same_to_a_reader_is_the_same_to_a_rule(condition: dict[str, Any], *, expected: bool) -> None:
    assert bool(evaluate([rule(condition)], WRAPPED)) is expected


def test_the_ending_of_a_file_is_compared_as_it_is_seen() -> None:
    file = Attachment("Rechnung．PDF\u200b", "application/octet-stream", 5)  # noqa: RUF001 - letters that look alike are what is tested
    seen = replace(MESSAGE, message=replace(MESSAGE.message, attachments=(file,)))
    assert evaluate([rule({"kind": "attachment", "ending": ".pdf"})], seen)


CONDITIONS: list[tuple[dict[str, Any], bool]] = [
    ({"kind": "sender", "addresses": ["ada@mail.example.ORG"]}, True),
    ({"kind": "sender", "addresses": ["boss@example.com"]}, False),
    ({"kind": "domain", "domains": ["mail.example.org"]}, True),
    ({"kind": "domain", "domains": ["example.org"]}, False),
    ({"kind": "domain", "domains": ["example.org"], "subdomains": True}, True),
    ({"kind": "domain", "domains": ["ample.org"], "subdomains": True}, False),
    ({"kind": "recipient", "addresses": ["OWNER@example.com"], "position": "to"}, True),
    ({"kind": "recipient", "addresses": ["owner@example.com"], "position": "cc"}, False),
    ({"kind": "recipient", "addresses": ["team@example.com"]}, True),
    ({"kind": "subject", "contains": "INVOICE"}, True),
    ({"kind": "subject", "equals": "invoice"}, False),
    ({"kind": "subject", "pattern": r"^invoice \d+$"}, True),
    ({"kind": "body", "pattern": r"pay\s+invoice"}, True),
    ({"kind": "body", "pattern": "^invoice"}, False),
    ({"kind": "header", "name": "X-Ticket"}, True),
    ({"kind": "header", "name": "X-Ticket", "equals": "a-1"}, True),
    ({"kind": "header", "name": "X-Other"}, False),
    ({"kind": "label", "label_id": "INBOX"}, True),
    ({"kind": "label", "label_id": "inbox"}, False),
    ({"kind": "size", "over": 10, "under": 10_000}, True),
    ({"kind": "size", "over": 10_000}, False),
    ({"kind": "attachment"}, False),
    ({"kind": "automated"}, False),
    ({"kind": "automated", "kinds": ["human"]}, True),
    ({"kind": "age", "over_hours": 4, "under_hours": 6}, True),
    ({"kind": "age", "over_hours": 5}, False),
    ({"kind": "first_contact"}, False),
    ({"kind": "has_my_reply"}, False),
]


def short(value: object) -> str:
    """A parameter as a part of a test's name; pytest numbers those that are alike."""
    return str(value)[:60]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS, ids=short)
def test_each_condition(condition: dict[str, Any], holds: bool) -> None:
    assert (evaluate([rule(condition)], MESSAGE) is not None) is holds
    assert (evaluate([rule({"kind": "not", "condition": condition})], MESSAGE) is not None) is not holds


@given(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=6))
def test_all_and_any_follow_logic(chosen: list[tuple[dict[str, Any], bool]]) -> None:
    inner = [condition for condition, _ in chosen]
    assert (evaluate([rule({"kind": "all", "conditions": inner})], MESSAGE) is not None) is all(h for _, h in chosen)
    assert (evaluate([rule({"kind": "any", "conditions": inner})], MESSAGE) is not None) is any(h for _, h in chosen)


def test_attachments_are_matched_by_type_and_ending() -> None:
    body = '--x\nContent-Type: image/png; name="Plan.PNG"\n\nabc\n--x--\n'
    message = facts(body, content_type="multipart/mixed; boundary=x")
    for condition, holds in (
        ({"kind": "attachment", "content_type": "image/*", "ending": ".png"}, True),
        ({"kind": "attachment", "content_type": "image/png"}, True),
        ({"kind": "attachment", "content_type": "application/pdf"}, False),
    ):
        assert (evaluate([rule(condition)], message) is not None) is holds


def test_list_mail_is_asked_for_by_kind() -> None:
    condition = {"kind": "automated", "kinds": ["list"]}
    assert evaluate([rule(condition)], facts(list_post="<mailto:t@example.org>")) is not None
    assert evaluate([rule({"kind": "automated"})], facts(list_post="<mailto:t@example.org>")) is None


@given(st.permutations([(1, "account"), (1, "org"), (2, "account"), (3, "org")]))
def test_the_first_by_priority_decides_and_stops(order: list[tuple[int, str]]) -> None:
    rules = [rule({"kind": "subject"}, rule_id=f"{p}{s}", priority=p, scope=s) for p, s in order]
    match = evaluate(rules, MESSAGE)
    assert match is not None
    assert match.rule_ids == ("1account",)


def test_rules_that_do_not_stop_add_their_actions() -> None:
    label = {"actions": [{"kind": "apply_label", "label_id": "Label_1"}]}
    rules = [
        rule({"kind": "subject"}, rule_id="a", priority=1, stop=False, decision=label),
        rule({"kind": "subject"}, rule_id="b", priority=2, stop=False, decision={"classification": "action_required"}),
        rule({"kind": "subject"}, rule_id="c", priority=3, decision={"classification": "fyi", **label}),
        rule({"kind": "subject"}, rule_id="d", priority=4),
    ]
    match = evaluate(rules, MESSAGE)
    assert match is not None
    assert match.rule_ids == ("a", "b", "c")
    assert match.classification is Classification.ACTION_REQUIRED
    assert len(match.actions) == 1
    decision = match.decision()
    assert decision is not None
    assert (decision.source, decision.confidence) == (DecisionSource.DETERMINISTIC, 1.0)
    only_label = evaluate(rules[:1], MESSAGE)
    assert only_label is not None
    assert only_label.decision() is None


def test_disabled_rules_rest() -> None:
    assert evaluate([rule({"kind": "subject"}, enabled=False)], MESSAGE) is None


BAD: list[tuple[str, dict[str, Any]]] = [
    ("condition", {"condition": {"kind": "body", "pattern": "a" * 501}}),
    ("condition", {"condition": {"kind": "body", "pattern": "a", "contains": "b"}}),
    ("condition", {"condition": {"kind": "telepathy"}}),
    ("condition", {"condition": {"kind": "sender", "addresses": []}}),
    ("condition", {"condition": {"kind": "all", "conditions": [{"kind": "subject"}] * 51}}),
    ("priority", {"priority": -1}),
    ("decision", {"decision": {}}),
    ("decision", {"decision": {"actions": [{"kind": "forward"}]}}),
    ("decision", {"decision": {"actions": [{"kind": "archive", "recipient": "a@example.org"}]}}),
    ("decision", {"decision": {"classification": "fyi", "needs_reply": True}}),
    ("decision", {"decision": {"route": "bookkeeper"}}),
    ("decision", {"decision": {"route": "agent:"}}),
    ("decision", {"decision": {"route": "agent:Book keeper"}}),
    ("decision", {"decision": {"route": "agent:" + "a" * 64}}),
    ("surprise", {"surprise": 1}),
]


@pytest.mark.parametrize(("field", "changes"), BAD, ids=short)
def test_a_bad_rule_is_refused_by_field(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refusal:
        rule(**{"condition": {"kind": "subject"}, **changes})
    assert refusal.value.field.startswith(field)


@pytest.mark.parametrize("depth", [DEEPEST_CONDITION, 5_000])
def test_nesting_is_bounded_before_anything_recurses(depth: int) -> None:
    condition: dict[str, Any] = {"kind": "subject"}
    for _ in range(depth):
        condition = {"kind": "not", "condition": condition}
    with pytest.raises(Invalid, match="nested deeper"):
        rule(condition)


def test_many_conditions_are_refused() -> None:
    inner = {"kind": "any", "conditions": [{"kind": "subject"}] * 50}
    with pytest.raises(Invalid, match="more than 200"):
        rule({"kind": "all", "conditions": [inner] * 10})


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("pattern", ["(", r"(?:a|aa)+(?<=b)c$", ".{1000}"])
def test_a_pattern_of_no_use_skips_its_rule_only(pattern: str, negated: bool) -> None:
    condition: dict[str, Any] = {"kind": "body", "pattern": pattern}
    bad = rule({"kind": "not", "condition": condition} if negated else condition, rule_id="bad", priority=1)
    evaluation = evaluate_all([bad, rule({"kind": "subject"})], facts("a" * 5_000))
    assert [rule_id for rule_id, _ in evaluation.skipped] == ["bad"]
    assert evaluation.match is not None
    assert evaluation.match.rule_ids == ("r1",)


TEXT_CONDITIONS: list[tuple[dict[str, Any], int]] = [
    ({"kind": "body", "contains": "x"}, 2 * 1_000),
    ({"kind": "subject", "equals": "x"}, 2 * 10),
    ({"kind": "header", "name": "X-Ticket", "contains": "x"}, 2 * 3),
    ({"kind": "body", "pattern": "xyz"}, compiled("xyz").programsize * 1_000),
    ({"kind": "label", "label_id": "x"}, 0),
]
LONG = facts("a" * 1_000, subject="b" * 10, x_ticket="c-d")


@given(st.lists(st.sampled_from(TEXT_CONDITIONS), min_size=1, max_size=10), st.sampled_from(["all", "any"]))
def test_the_work_of_a_rule_grows_with_each_text_that_it_looks_at(
    chosen: list[tuple[dict[str, Any], int]], kind: str
) -> None:
    group = {"kind": kind, "conditions": [condition for condition, _ in chosen]}
    plain = sum(work for _, work in chosen)
    to_compile = sum("pattern" in condition for condition, _ in chosen) * 2 * TO_COMPILE
    for condition in (group, {"kind": "not", "condition": group}):
        assert plain <= work_of(rule(condition).condition, LONG) <= plain + to_compile


@pytest.mark.parametrize("way", [{"contains": "ab" * 200}, {"pattern": "(a|b)*a(a|b){200}c"}], ids=["plain", "pattern"])
def test_the_rules_of_a_message_share_one_budget(way: dict[str, Any]) -> None:
    """A hundred rules or ten thousand conditions on a long text: what is past the budget is skipped, and told."""
    long = facts("ab" * 50_000)
    costly = {"kind": "any", "conditions": [{"kind": "body", **way}] * 50}
    rules = [rule(costly, rule_id=f"r{n:03}", stop=False) for n in range(100)]
    spent = MOST_WORK // work_of(rules[0].condition, long)
    evaluation = evaluate_all([*rules, rule({"kind": "label", "label_id": "INBOX"}, rule_id="z")], long)
    assert [rule_id for rule_id, _ in evaluation.skipped] == [one.rule_id for one in rules[spent:]]
    assert spent < len(rules)
    assert evaluation.match is not None
    assert evaluation.match.rule_ids[-1] == "z", "a rule that costs nothing is still asked"


@pytest.mark.parametrize(
    ("results", "matched"),
    [("mx.google.com; dmarc=pass", True), ("mx.google.com; dmarc=fail", False), ("", False)],
)
def test_a_rule_that_sends_needs_a_proven_sender(results: str, matched: bool) -> None:
    forward = {"actions": [{"kind": "forward", "to": ["other@example.org"]}]}
    evaluation = evaluate_all([rule({"kind": "subject"}, decision=forward)], facts(authentication_results=results))
    assert (evaluation.match is not None) is matched
    assert bool(evaluation.skipped) is not matched


def test_a_rule_survives_json() -> None:
    original = rule({"kind": "all", "conditions": [{"kind": "not", "condition": {"kind": "label", "label_id": "x"}}]})
    assert parse_rule(original.model_dump(mode="json")) == original


def test_the_first_matching_route_wins_and_names_the_agent() -> None:
    routed = [
        rule({"kind": "subject"}, rule_id=name, priority=place, stop=False, decision=decision)
        for place, (name, decision) in enumerate(
            [
                ("star", {"actions": [{"kind": "star"}]}),
                ("one", {"route": "agent:one"}),
                ("two", {"route": "agent:two"}),
            ]
        )
    ]
    match = evaluate(routed, MESSAGE)
    assert match is not None
    assert (match.route, match.agent) == ("agent:one", "one")
    assert match.decision() is None, "a route leaves the class to the later tiers"
    unrouted = evaluate(routed[:1], MESSAGE)
    assert unrouted is not None
    assert (unrouted.route, unrouted.agent) == (None, None)

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.parsing.parsed_message import Attachment
from domain.mail.rule_language.conditions import DEEPEST_CONDITION
from domain.mail.rule_language.rule_work import MOST_WORK, TO_COMPILE, work_of
from domain.mail.rule_language.rules import Rule, RuleMatch, evaluate_all, parse_rule
from domain.mail.rule_language.safe_pattern import compiled
from domain.mail.triage.automation import detect_automation
from domain.mail.triage.classification import Classification, DecisionSource
from domain.mail.triage.mail_facts import MailFacts
from tests.domain.mail.messages import make_message


def evaluate(rules: list[Rule], facts: MailFacts) -> RuleMatch | None:
    return evaluate_all(rules, facts).match


def rule(condition: dict[str, Any], **changes: object) -> Rule:
    data = {"rule_id": "r1", "name": "a rule", "when": condition, "then": {"class": "fyi"}}
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
    ({"body": "overdue since Monday"}, True),
    ({"body": "the open INVOICE"}, True),
    ({"body": "the\u00a0open\ninvoice"}, True),
    ({"body": "theopen"}, False),
    ({"body": {"matches": "overdue since Monday"}}, True),
    ({"body": {"matches": r"overdue.{1,30}pay the open invoice\.$"}}, False),
    ({"body": {"matches": r"overdue.{1,30}pay the open invoice"}}, True),
    ({"body": {"matches": r"(?m)^total: \d$"}}, True),
    ({"body": {"matches": r"(?m)^monday\."}}, True),
    ({"body": {"matches": r"invoice.{1,9}total"}}, False),
    ({"subject": "istanbul"}, True),
    ({"subject": "İstanbul"}, True),
    ({"subject": {"equals": "Toplanti istanbul"}}, True),
    ({"subject": {"matches": "^TOPLANTI İSTANBUL$"}}, True),
    ({"header": {"name": "x-note", "equals": "First Note"}}, True),
    ({"domain": "bücher.example"}, True),
    ({"domain": "XN--BCHER-KVA.example"}, True),
    ({"domain": "bucher.example"}, False),
    ({"domain": "BÜCHER。EXAMPLE."}, True),
    ({"from": "INFO@bücher.example"}, True),
    ({"from": '"info"@xn--bcher-kva.example'}, True),
]


@pytest.mark.parametrize(("condition", "expected"), LOOKS_ALIKE)
def test_what_looks_the_same_to_a_reader_is_the_same_to_a_rule(condition: dict[str, Any], *, expected: bool) -> None:
    assert bool(evaluate([rule(condition)], WRAPPED)) is expected


def test_the_ending_of_a_file_is_compared_as_it_is_seen() -> None:
    file = Attachment("Rechnung．PDF\u200b", "application/octet-stream", 5)  # noqa: RUF001 - letters that look alike are what is tested
    seen = replace(MESSAGE, message=replace(MESSAGE.message, attachments=(file,)))
    assert evaluate([rule({"attachment": {"ending": ".pdf"}})], seen)


CONDITIONS: list[tuple[dict[str, Any], bool]] = [
    ({"from": "ada@mail.example.ORG"}, True),
    ({"from": "boss@example.com"}, False),
    ({"domain": "mail.example.org"}, True),
    ({"domain": "example.org"}, False),
    ({"domain": {"names": "example.org", "subdomains": True}}, True),
    ({"domain": {"names": "ample.org", "subdomains": True}}, False),
    ({"to": "OWNER@example.com"}, True),
    ({"cc": "owner@example.com"}, False),
    ({"recipient": "team@example.com"}, True),
    ({"subject": "INVOICE"}, True),
    ({"subject": {"equals": "invoice"}}, False),
    ({"subject": {"matches": r"^invoice \d+$"}}, True),
    ({"body": {"matches": r"pay\s+invoice"}}, True),
    ({"body": {"matches": "^invoice"}}, False),
    ({"header": {"name": "X-Ticket"}}, True),
    ({"header": {"name": "X-Ticket", "equals": "a-1"}}, True),
    ({"header": {"name": "X-Other"}}, False),
    ({"label": "INBOX"}, True),
    ({"label": "inbox"}, False),
    ({"size": {"over": 10, "under": 10_000}}, True),
    ({"size": {"over": 10_000}}, False),
    ({"attachment": True}, False),
    ({"automated": True}, False),
    ({"automated": "human"}, True),
    ({"age": {"over": "4 hours", "under": "6 hours"}}, True),
    ({"age": {"over": "5 hours"}}, False),
    ({"first_contact": True}, False),
    ({"has_my_reply": True}, False),
]


def short(value: object) -> str:
    """A parameter as a part of a test's name; pytest numbers those that are alike."""
    return str(value)[:60]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS, ids=short)
def test_each_condition(condition: dict[str, Any], holds: bool) -> None:
    assert (evaluate([rule(condition)], MESSAGE) is not None) is holds
    assert (evaluate([rule({"not": condition})], MESSAGE) is not None) is not holds


@given(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=6))
def test_all_and_any_follow_logic(chosen: list[tuple[dict[str, Any], bool]]) -> None:
    inner = [condition for condition, _ in chosen]
    assert (evaluate([rule({"all": inner})], MESSAGE) is not None) is all(h for _, h in chosen)
    assert (evaluate([rule({"any": inner})], MESSAGE) is not None) is any(h for _, h in chosen)


@given(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=6, unique_by=lambda one: next(iter(one[0]))))
def test_several_words_in_one_condition_must_all_hold(chosen: list[tuple[dict[str, Any], bool]]) -> None:
    together = {word: value for condition, _ in chosen for word, value in condition.items()}
    assert (evaluate([rule(together)], MESSAGE) is not None) is all(holds for _, holds in chosen)


def test_attachments_are_matched_by_type_and_ending() -> None:
    body = '--x\nContent-Type: image/png; name="Plan.PNG"\n\nabc\n--x--\n'
    message = facts(body, content_type="multipart/mixed; boundary=x")
    for condition, holds in (
        ({"attachment": {"type": "image/*", "ending": ".png"}}, True),
        ({"attachment": {"type": "image/png"}}, True),
        ({"attachment": {"type": "application/pdf"}}, False),
    ):
        assert (evaluate([rule(condition)], message) is not None) is holds


def test_list_mail_is_asked_for_by_kind() -> None:
    condition = {"automated": "list"}
    assert evaluate([rule(condition)], facts(list_post="<mailto:t@example.org>")) is not None
    assert evaluate([rule({"automated": True})], facts(list_post="<mailto:t@example.org>")) is None


@given(st.permutations([(1, "account"), (1, "org"), (2, "account"), (3, "org")]))
def test_the_first_by_priority_decides_and_stops(order: list[tuple[int, str]]) -> None:
    rules = [rule({"subject": {}}, rule_id=f"{p}{s}", priority=p, scope=s) for p, s in order]
    match = evaluate(rules, MESSAGE)
    assert match is not None
    assert match.rule_ids == ("1account",)


def test_rules_that_do_not_stop_add_their_actions() -> None:
    label = {"actions": [{"apply_label": "Label_1"}]}
    rules = [
        rule({"subject": {}}, rule_id="a", priority=1, stop=False, then=label),
        rule({"subject": {}}, rule_id="b", priority=2, stop=False, then={"class": "action_required"}),
        rule({"subject": {}}, rule_id="c", priority=3, then={"class": "fyi", **label}),
        rule({"subject": {}}, rule_id="d", priority=4),
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
    assert evaluate([rule({"subject": {}}, enabled=False)], MESSAGE) is None


BAD: list[tuple[str, dict[str, Any]]] = [
    ("when", {"when": {"body": {"matches": "a" * 501}}}),
    ("when", {"when": {"body": {"matches": "a", "contains": "b"}}}),
    ("when", {"when": {"telepathy": True}}),
    ("when", {"when": {"from": []}}),
    ("when", {"when": {"all": [{"subject": {}}] * 51}}),
    ("priority", {"priority": -1}),
    ("then", {"then": {}}),
    ("then", {"then": {"actions": ["forward"]}}),
    ("then", {"then": {"actions": [{"archive": "a@example.org"}]}}),
    ("then", {"then": {"class": "fyi", "needs_reply": True}}),
    ("then", {"then": {"route": "bookkeeper"}}),
    ("then", {"then": {"route": "agent:"}}),
    ("then", {"then": {"route": "agent:Book keeper"}}),
    ("then", {"then": {"route": "agent:" + "a" * 64}}),
    ("surprise", {"surprise": 1}),
]


@pytest.mark.parametrize(("field", "changes"), BAD, ids=short)
def test_a_bad_rule_is_refused_by_field(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refusal:
        rule({"subject": {}}, **changes)
    assert refusal.value.field.startswith(field)


@pytest.mark.parametrize("depth", [DEEPEST_CONDITION, 5_000])
def test_nesting_is_bounded_before_anything_recurses(depth: int) -> None:
    condition: dict[str, Any] = {"subject": {}}
    for _ in range(depth):
        condition = {"not": condition}
    with pytest.raises(Invalid, match="nested deeper"):
        rule(condition)


def test_many_conditions_are_refused() -> None:
    inner: dict[str, Any] = {"any": [{"subject": {}}] * 50}
    with pytest.raises(Invalid, match="more than 200"):
        rule({"all": [inner] * 10})


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("pattern", ["(", r"(?:a|aa)+(?<=b)c$", ".{1000}"])
def test_a_pattern_of_no_use_skips_its_rule_only(pattern: str, negated: bool) -> None:
    condition: dict[str, Any] = {"body": {"matches": pattern}}
    bad = rule({"not": condition} if negated else condition, rule_id="bad", priority=1)
    evaluation = evaluate_all([bad, rule({"subject": {}})], facts("a" * 5_000))
    assert [rule_id for rule_id, _ in evaluation.skipped] == ["bad"]
    assert evaluation.match is not None
    assert evaluation.match.rule_ids == ("r1",)


TEXT_CONDITIONS: list[tuple[dict[str, Any], int]] = [
    ({"body": "x"}, 2 * 1_000),
    ({"subject": {"equals": "x"}}, 2 * 10),
    ({"header": {"name": "X-Ticket", "contains": "x"}}, 2 * 3),
    ({"body": {"matches": "xyz"}}, compiled("xyz").programsize * 1_000),
    ({"label": "x"}, 0),
]
LONG = facts("a" * 1_000, subject="b" * 10, x_ticket="c-d")


@given(st.lists(st.sampled_from(TEXT_CONDITIONS), min_size=1, max_size=10), st.sampled_from(["all", "any"]))
def test_the_work_of_a_rule_grows_with_each_text_that_it_looks_at(
    chosen: list[tuple[dict[str, Any], int]], kind: str
) -> None:
    group = {kind: [condition for condition, _ in chosen]}
    plain = sum(work for _, work in chosen)
    to_compile = sum("matches" in str(condition) for condition, _ in chosen) * 2 * TO_COMPILE
    for condition in (group, {"not": group}):
        assert plain <= work_of(rule(condition).condition, LONG) <= plain + to_compile


@pytest.mark.parametrize("way", [{"contains": "ab" * 200}, {"matches": "(a|b)*a(a|b){200}c"}], ids=["plain", "pattern"])
def test_the_rules_of_a_message_share_one_budget(way: dict[str, Any]) -> None:
    """A hundred rules or ten thousand conditions on a long text: what is past the budget is skipped, and told."""
    long = facts("ab" * 50_000)
    costly = {"any": [{"body": way}] * 50}
    rules = [rule(costly, rule_id=f"r{n:03}", stop=False) for n in range(100)]
    spent = MOST_WORK // work_of(rules[0].condition, long)
    evaluation = evaluate_all([*rules, rule({"label": "INBOX"}, rule_id="z")], long)
    assert [rule_id for rule_id, _ in evaluation.skipped] == [one.rule_id for one in rules[spent:]]
    assert spent < len(rules)
    assert evaluation.match is not None
    assert evaluation.match.rule_ids[-1] == "z", "a rule that costs nothing is still asked"


@pytest.mark.parametrize(
    ("results", "matched"),
    [("mx.google.com; dmarc=pass", True), ("mx.google.com; dmarc=fail", False), ("", False)],
)
def test_a_rule_that_sends_needs_a_proven_sender(results: str, matched: bool) -> None:
    forward = {"actions": [{"forward": ["other@example.org"]}]}
    evaluation = evaluate_all([rule({"subject": {}}, then=forward)], facts(authentication_results=results))
    assert (evaluation.match is not None) is matched
    assert bool(evaluation.skipped) is not matched


def test_a_rule_survives_json() -> None:
    original = rule({"all": [{"not": {"label": "x"}}]})
    assert parse_rule(original.model_dump(mode="json")) == original


def test_the_first_matching_route_wins_and_names_the_agent() -> None:
    routed = [
        rule({"subject": {}}, rule_id=name, priority=place, stop=False, then=decision)
        for place, (name, decision) in enumerate(
            [
                ("star", {"actions": ["star"]}),
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

"""Each mistake in a rule is told with its line, column, field and reason."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.documents.faults import RefusedDocument
from domain.jobs.failures import Invalid
from domain.mail.actions.label_actions import ApplyLabel
from domain.mail.mailbox import MailboxLabel
from domain.mail.rule_language.conditions import Label
from domain.mail.rule_language.direction import read_direction
from domain.mail.rule_language.label_names import LabelNames
from domain.mail.rule_language.rule_context import RuleContext
from domain.mail.rule_language.rule_file import MOST_PATTERNS_AT_ONCE, MOST_SHOWN, read_rule_document, read_rule_file
from domain.mail.rule_language.rule_words import forwarded_to, labels_named
from domain.mail.rule_language.rules import Rule

HEAD = "name: a rule\n"
WHEN = HEAD + "when: {subject: x}\n"
THEN = "then: {class: fyi}\n"


def refused(text: str) -> RefusedDocument:
    with pytest.raises(RefusedDocument) as refusal:
        read_rule_file(text.encode(), "r.yaml")
    return refusal.value


BAD = [  # text, line:column, field
    (HEAD + "when:\n  sujbect: x\n" + THEN, "3:3", "when.sujbect"),
    (HEAD + "when:\n  subject: [x]\n" + THEN, "3:12", "when.subject"),
    (HEAD + "when:\n  subject: {equals: a, matches: b}\n" + THEN, "3:12", "when.subject"),
    (HEAD + "when:\n  body: {matches: '('}\n" + THEN, "3:19", "when.body.matches"),
    (HEAD + "when:\n  body:\n    matches: (a|aa)+(?<=b)c$\n" + THEN, "4:14", "when.body.matches"),
    (HEAD + "when:\n  from:\n    - a@b.example\n    - nobody\n" + THEN, "5:7", "when.from[1]"),
    (HEAD + "when:\n  domain: a@b.example\n" + THEN, "3:11", "when.domain"),
    (HEAD + "when:\n  domain: {subdomains: true}\n" + THEN, "3:11", "when.domain"),
    (HEAD + "when:\n  header: {contains: x}\n" + THEN, "3:11", "when.header"),
    (HEAD + "when:\n  header: {name: 'a b'}\n" + THEN, "3:18", "when.header.name"),
    (HEAD + "when:\n  size: {over: huge}\n" + THEN, "3:16", "when.size.over"),
    (HEAD + "when:\n  size: {over: -2}\n" + THEN, "3:16", "when.size.over"),
    (HEAD + "when:\n  size: {over: 9e999 MB}\n" + THEN, "3:16", "when.size.over"),
    (HEAD + "when:\n  size: {under: 1e30 KB}\n" + THEN, "3:17", "when.size.under"),
    (HEAD + f"when:\n  size: {{over: {'9' * 400}}}\n" + THEN, "3:16", "when.size.over"),
    (HEAD + "when:\n  age: {over: 9e999 days}\n" + THEN, "3:15", "when.age.over"),
    (HEAD + "when:\n  size: {over: 0}\n" + THEN, "3:16", "when.size.over"),
    (HEAD + "when:\n  size: {over: 5 MB, under: 5 KB}\n" + THEN, "3:9", "when.size"),
    (HEAD + "when:\n  age: {over: 0 days}\n" + THEN, "3:15", "when.age.over"),
    (HEAD + "when:\n  age: {over: 1 day, under: 24 hours}\n" + THEN, "3:8", "when.age"),
    (WHEN + "then:\n  actions:\n    - forward: jörg@b.example\n", "5:16", "then.actions[0].forward"),
    (HEAD + "when:\n  from: '*@b.example'\n" + THEN, "3:9", "when.from"),
    (HEAD + "when:\n  domain: '*.b.example'\n" + THEN, "3:11", "when.domain"),
    (HEAD + "when:\n  domain: .\n" + THEN, "3:11", "when.domain"),
    (HEAD + "when:\n  subject: {matches: '.*'}\n" + THEN, "3:22", "when.subject.matches"),
    (HEAD + "when:\n  body: {matches: .+$}\n" + THEN, "3:19", "when.body.matches"),
    (HEAD + "when:\n  header: {name: A, matches: x?}\n" + THEN, "3:30", "when.header.matches"),
    (HEAD + "when:\n  all: []\n" + THEN, "3:8", "when.all"),
    (HEAD + "when:\n  size: {}\n" + THEN, "3:9", "when.size"),
    (HEAD + "when:\n  age: {over: 3}\n" + THEN, "3:15", "when.age.over"),
    (HEAD + "when:\n  automated: [spam]\n" + THEN, "3:15", "when.automated[0]"),
    (HEAD + "when:\n  first_contact: yes\n" + THEN, "3:18", "when.first_contact"),
    (HEAD + "when:\n  any: []\n" + THEN, "3:8", "when.any"),
    (HEAD + "when: {}\n" + THEN, "2:7", "when"),
    (HEAD + "when: {not: {all: [{subject: }]}}\n" + THEN, "2:30", "when.not.all[0].subject"),
    (HEAD + "when: {subject: x}\nthen: {}\n", "3:7", "then"),
    (HEAD + "when: {subject: x}\nthen: {class: urgent}\n", "3:15", "then.class"),
    (HEAD + "when: {subject: x}\nthen: {class: needs_review}\n", "3:15", "then.class"),
    (HEAD + "when: {subject: x}\nthen: {class: fyi, needs_reply: true}\n", "3:7", "then"),
    (HEAD + "when: {subject: x}\nthen: {route: bookkeeper}\n", "3:15", "then.route"),
    (HEAD + "when: {subject: x}\nthen: {actions: [explode]}\n", "3:18", "then.actions[0]"),
    (HEAD + "when: {subject: x}\nthen: {actions: [{star: 1}]}\n", "3:25", "then.actions[0].star"),
    (HEAD + "when: {subject: x}\nthen: {actions: [forward]}\n", "3:18", "then.actions[0]"),
    (HEAD + "when: {subject: x}\nthen:\n  actions:\n    - forward: x\n", "5:16", "then.actions[0].forward"),
    (HEAD + "when: {subject: x}\nthen:\n  actions:\n    - snooze: 0 days\n", "5:15", "then.actions[0].snooze"),
    (WHEN + "then: {actions: [{apply_label: INBOX}]}\n", "3:32", "then.actions[0].apply_label"),
    (WHEN + "then: {actions: [{remove_label: SENT}]}\n", "3:33", "then.actions[0].remove_label"),
    (HEAD + "when: {subject: x}\nthen:\n  actions:\n    - snooze: 30 years\n", "5:15", "then.actions[0].snooze"),
    (HEAD + "when: {subject: x}\nthen:\n  actions:\n    - snooze: 900 weeks\n", "5:15", "then.actions[0].snooze"),
    (HEAD + "priority: 10001\nwhen: {subject: x}\n" + THEN, "2:11", "priority"),
    (HEAD + "stop: maybe\nwhen: {subject: x}\n" + THEN, "2:7", "stop"),
    ("when: {subject: x}\n" + THEN, "1:1", "rules"),
    (HEAD + THEN, "1:1", "rules"),
    (HEAD + "when: {subject: x}\nthen: {class: fyi}\nunless: x\n", "4:1", "unless"),
    (f"name: {'n' * 201}\nwhen: {{subject: x}}\n{THEN}", "1:7", "name"),
    (HEAD + "tell: ''\n", "2:7", "tell"),
    (HEAD + f"tell: {'w' * 2001}\n", "2:7", "tell"),
    (HEAD + "tell: x\nfor: everybody\n", "3:6", "for"),
    (HEAD + "tell: x\nfor: {sender: bob}\n", "3:15", "for.sender"),
    (HEAD + "tell: x\nthen: {class: fyi}\n", "3:1", "then"),
    ("rules: 5\n", "1:8", "rules"),
    ("rules: []\n", "1:8", "rules"),
    ("", "1:1", "rules"),
    ("rules: []\nmore: 1\n", "2:1", "more"),
    ("- 1\n", "1:3", "[0]"),
    (HEAD + 'when: {subject: "a\\0b"}\n' + THEN, "2:17", "when.subject"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "field"), BAD, ids=[f"{one[2]}-{one[1]}" for one in BAD])
def test_a_mistake_is_told_with_its_place(text: str, place: str, field: str) -> None:
    refusal = refused(text)
    assert refusal.field == field
    assert refusal.lines[0].startswith(f"r.yaml:{place}: {field}: ")


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    rule = "- name: x\n  when: {subjekt: x}\n  then: {klass: fyi}\n"
    refusal = refused(rule * 3)
    assert [line.split(": ")[0] for line in refusal.lines] == [f"r.yaml:{n}:{10}" for n in (2, 3, 5, 6, 8, 9)]
    assert "and 5 more" in refusal.reason
    assert len(refused(rule * 100).lines) == MOST_SHOWN


@given(before=st.integers(0, 40), indent=st.integers(1, 8))
def test_lines_and_columns_are_counted_from_one(before: int, indent: int) -> None:
    text = "# a comment\n" * before + "name: x\nwhen:\n" + " " * indent + "subjekt: x\n" + THEN
    assert refused(text).lines[0].startswith(f"r.yaml:{before + 3}:{indent + 1}: when.subjekt: ")


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"name": "x", "when": {"subjekt": "x"}, "then": {"class": "fyi"}}, "/when/subjekt"),
        ({"name": "x", "when": {"a/b~c": "x"}, "then": {"class": "fyi"}}, "/when/a~1b~0c"),
        ({"rules": [{"name": "x", "when": {"all": [{"from": ["no"]}]}, "then": {}}]}, "/rules/0/when/all/0/from/0"),
        ([], "/"),
        ("a rule", "/"),
        ({"name": "x", "when": {"subject": "x"}, "then": {"class": "fyi"}, "priority": True}, "/priority"),
    ],
)  # fmt: skip
def test_json_is_refused_by_pointer(document: object, pointer: str) -> None:
    with pytest.raises(RefusedDocument) as refusal:
        read_rule_document(document)
    assert refusal.value.field == pointer
    assert not refusal.value.reason.startswith(":")


def test_labels_are_named_and_kept_by_id() -> None:
    labels = LabelNames.of([MailboxLabel("Label_7", "Receipts", "user"), MailboxLabel("INBOX", "INBOX", "system")])
    text = HEAD + "when: {any: [{label: receipts}, {label: Label_7}]}\nthen: {actions: [{apply_label: RECEIPTS}]}\n"
    (rule,) = read_rule_file(text.encode(), "r.yaml", RuleContext(labels))
    assert isinstance(rule, Rule)
    assert rule.decision.actions == (ApplyLabel(label_id="Label_7"),)
    assert rule.condition.any_ is not None
    assert [one.label for one in rule.condition.any_.root] == [Label("Label_7")] * 2
    (told,) = read_rule_file(b"name: x\ntell: x\nlabels: [Receipts]\n", "r.yaml", RuleContext(labels))
    assert told.labels == ("Label_7",)  # type: ignore[union-attr]  # known above
    with pytest.raises(RefusedDocument, match="names no label") as refusal:
        read_rule_file((HEAD + "when:\n  label: Bills\n" + THEN).encode(), "r.yaml", RuleContext(labels))
    assert refusal.value.lines[0].startswith("r.yaml:3:10: when.label: ")


NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
HERE = RuleContext(
    LabelNames.of([MailboxLabel("INBOX", "INBOX", "system")]), frozenset({"ada@a.example", "a.l@b.example"}), NOW
)
ORG = RuleContext(LabelNames.of_org(["Label_7"]), frozenset({"ada@a.example"}), NOW)


@pytest.mark.parametrize(
    ("context", "action", "place", "reason"),
    [
        (HERE, "snooze: {until: '2026-11-25T12:00:00Z'}", "5:23", "is in the past"),
        (HERE, "snooze: {until: '2020-01-01T00:00:00+01:00'}", "5:23", "is in the past"),
        (HERE, "snooze: {until: '2027-12-01T00:00:00Z'}", "5:23", "is more than a year ahead"),
        (HERE, "forward: Ada@A.example", "5:16", "comes back to the rule: Ada@A.example is a mailbox"),
        (HERE, "forward: [x@y.example, ada+tag@a.example]", "5:16", "comes back to the rule: ada+tag@a.example"),
        (HERE, "forward: {to: x@y.example, cc: a.l@b.example}", "5:16", "comes back to the rule: a.l@b.example"),
        (HERE, "apply_label: inbox", "5:20", "INBOX has actions of its own: archive"),
        (ORG, "forward: ada@a.example", "5:16", "comes back to the rule"),
        (ORG, "apply_label: Label_8", "5:20", "names no label of any mailbox of the org, by its id: 'Label_8'"),
    ],
)
def test_what_only_the_mailbox_and_the_clock_can_tell(
    context: RuleContext, action: str, place: str, reason: str
) -> None:
    text = HEAD + f"when: {{subject: x}}\nthen:\n  actions:\n    - {action}\n"
    with pytest.raises(RefusedDocument) as refusal:
        read_rule_file(text.encode(), "r.yaml", context)
    assert refusal.value.lines[0].startswith(f"r.yaml:{place}: then.actions[0].")
    assert reason in refusal.value.lines[0]


@pytest.mark.parametrize(
    ("profiles", "reason"),
    [
        ({"bookkeeper", "assistant"}, "names no agent's profile: 'bookkeper'; known are assistant, bookkeeper"),
        (set(), "names no agent's profile: 'bookkeper'; there is none"),
    ],
)
def test_a_route_names_a_profile_that_there_is(profiles: set[str], reason: str) -> None:
    text = HEAD + "when: {subject: x}\nthen:\n  route: agent:bookkeper\n"
    with pytest.raises(RefusedDocument) as refusal:
        read_rule_file(text.encode(), "r.yaml", RuleContext(profiles=frozenset(profiles)))
    assert refusal.value.lines == (f"r.yaml:4:10: then.route: {reason}",)
    assert read_rule_file(text.encode(), "r.yaml", RuleContext(profiles=frozenset({"bookkeper"})))
    assert read_rule_file(text.encode(), "r.yaml"), "unchecked where the profiles are not known"


@pytest.mark.parametrize("context", [HERE, ORG], ids=["mailbox", "org"])
@pytest.mark.parametrize(
    "action", ["snooze: {until: '2026-11-25T12:00:01Z'}", "snooze: 366 days", "forward: ada@b.example"]
)
def test_what_is_good_passes(context: RuleContext, action: str) -> None:
    text = HEAD + f"when: {{label: INBOX}}\nthen:\n  actions:\n    - {action}\n"
    (rule,) = read_rule_file(text.encode(), "r.yaml", context)
    assert read_rule_document(rule.document) == (rule,)


@given(local=st.from_regex("[a-z]{1,8}", fullmatch=True), tag=st.from_regex("[a-z+]{0,8}", fullmatch=True))
def test_a_tag_leads_to_the_same_mailbox(local: str, tag: str) -> None:
    context = RuleContext(own_addresses=frozenset({f"{local}@a.example"}))
    assert context.own_among(["x.y@a.example", f"{local}+{tag}@A.example"]) == f"{local}+{tag}@A.example"
    assert context.own_among([f"{local}.{tag or 'x'}@a.example", f"{local}@b.example"]) is None


def test_what_rules_name_is_found() -> None:
    when = {"any": [{"label": "L1"}, {"not": {"all": [{"label": "L2"}, {"label": "INBOX"}]}}]}
    then = {"actions": [{"apply_label": "L3"}, {"forward": {"to": "a@b.example", "cc": ["c@d.example"]}}]}
    told = {"name": "y", "tell": "x", "labels": ["L4"]}
    rules = read_rule_document([{"name": "x", "when": when, "then": then}, told])
    assert labels_named(rules) == {"L1", "L2", "L3", "L4"}
    assert forwarded_to(rules) == {"a@b.example", "c@d.example"}


@pytest.mark.parametrize("depth", [9, 15])
def test_nesting_is_bounded(depth: int) -> None:
    text = HEAD + "when: " + "{not: " * depth + "{subject: x}" + "}" * depth + "\n" + THEN
    refusal = refused(text)
    assert "nested deeper than" in refusal.reason


def test_the_number_of_conditions_is_bounded() -> None:
    inner = "{any: [" + ", ".join(["{subject: x}"] * 50) + "]}"
    refusal = refused(HEAD + "when: {all: [" + ", ".join([inner] * 5) + "]}\n" + THEN)
    assert "more than 200" in refusal.reason
    assert "more than 50" in refused(HEAD + "when: {any: [" + "{subject: x}, " * 51 + "]}\n" + THEN).reason


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a+)+(?<=b)c$", "no look-around"),
        ("^(?!re:)", "no look-around"),
        (r"(a)\1", "no back-references"),
        (r"a\Z", r"\z for \Z"),
        ("a++", "is no regular expression of RE2"),
        ("a{16777216}", "invalid repetition size"),
        ("(?:(?:a{200}){200}){200}", "invalid repetition size"),
        (".{1000}x", "is too large"),
        ("(.{0,30}a){30}", "is too large"),
    ],
)
def test_a_pattern_that_the_engine_does_not_take_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    document = {"name": "x", "when": {"body": {"matches": pattern}}, "then": {"class": "fyi"}}
    with pytest.raises(RefusedDocument) as refusal:
        read_rule_document(document)
    assert refusal.value.field == "/when/body/matches"
    assert reason in refusal.value.reason


def test_the_patterns_of_a_document_are_counted_before_any_is_compiled() -> None:
    condition = {"any": [{"subject": {"matches": "("}}] * 50}
    rule = {"name": "x", "when": {"all": [condition] * 3}, "then": {"class": "fyi"}}
    with pytest.raises(RefusedDocument, match=f"more than {MOST_PATTERNS_AT_ONCE} patterns") as refusal:
        read_rule_document([rule] * 4)
    assert len(refusal.value.lines) == 1


def test_a_name_that_looks_like_a_secret_is_refused_where_it_comes_in() -> None:
    for kind in ({"when": {"subject": "x"}, "then": {"class": "fyi"}}, {"tell": "x"}):
        with pytest.raises(RefusedDocument) as refusal:
            read_rule_document({"name": "for AKIAABCDEFGHIJKLMNOP", **kind})
        assert refusal.value.field == "/name"


@pytest.mark.parametrize("size", ["9e999 MB", "1e300 KB", "999999999999999 MB", "1e30 bytes"])
def test_a_size_that_no_message_has_is_refused(size: str) -> None:
    assert "less than or equal to" in refused(HEAD + f"when: {{size: {{over: {size}}}}}\n" + THEN).reason


def test_a_number_of_bytes_that_no_message_has_is_refused() -> None:
    with pytest.raises(RefusedDocument, match="less than or equal to"):
        read_rule_document({"name": "x", "when": {"size": {"under": 10**400}}, "then": {"class": "fyi"}})


@pytest.mark.parametrize(
    ("written", "is_taken"),
    [
        ("ada@x.org", True),
        ('"a b"@x.org', True),
        ("info@bücher.example", True),
        ("a@[IPv6:::1]", True),
        ("a@b..c", False),
        ("jörg@x.org", False),
        ("a@i\u2764.ws", False),
        ("a@b@c.org", False),
        ("*@x.org", False),
        ("a@*.org", False),
    ],
)
def test_rules_and_directions_take_the_addresses_that_mail_can_be_sent_to(written: str, is_taken: bool) -> None:
    places: list[Callable[[], object]] = [
        lambda: read_direction({"content": "x", "sender": written}, of_account=True),
        lambda: read_rule_document({"name": "x", "when": {"from": written}, "then": {"class": "fyi"}}),
        lambda: read_rule_document({"name": "x", "when": {"to": [written]}, "then": {"class": "fyi"}}),
        lambda: read_rule_document({"name": "x", "tell": "x", "for": {"sender": written}}),
    ]
    for read in places:
        if is_taken:
            read()
        else:
            with pytest.raises((Invalid, RefusedDocument)):
                read()


@pytest.mark.parametrize("pattern", [r"\bщит\b", r"\bcafé\b", r"x\\\bé", r"\b\pL+", r"\Bß"])
def test_a_word_boundary_beside_other_letters_is_refused_with_the_way_to_write_it(pattern: str) -> None:
    with pytest.raises(RefusedDocument, match=r"at character \d.*\(\^\|\\W\)"):
        read_rule_document({"name": "x", "when": {"subject": {"matches": pattern}}, "then": {"class": "fyi"}})


@pytest.mark.parametrize(
    ("domain", "is_taken"), [("bücher.example", True), ("b..c", False), ("\u2764.ws", False), ("*.ws", False)]
)
def test_directions_take_the_domains_that_mail_can_be_sent_to(domain: str, is_taken: bool) -> None:
    if is_taken:
        assert read_direction({"content": "x", "domain": domain}, of_account=True).ref == "xn--bcher-kva.example"
    else:
        with pytest.raises(Invalid, match="is no domain"):
            read_direction({"content": "x", "domain": domain}, of_account=True)

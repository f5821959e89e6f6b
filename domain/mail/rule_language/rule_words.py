"""A rule as people write it: `when` and `then`, or `tell` for the model to decide (docs: rule-language.md)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from domain.documents.paths import Path
from domain.mail.actions.label_actions import ApplyLabel, RemoveLabel
from domain.mail.actions.requested_action import Forward
from domain.mail.mail_fence import one_line
from domain.mail.mailbox import SYSTEM_LABELS
from domain.mail.rule_language.action_words import read_actions, write_action
from domain.mail.rule_language.condition_texts import write_condition
from domain.mail.rule_language.condition_words import ConditionReader
from domain.mail.rule_language.defects import Defects, defect
from domain.mail.rule_language.label_names import LabelNames
from domain.mail.rule_language.rule_context import UNCHECKED, RuleContext
from domain.mail.rule_language.values import addresses, domains, label, made, mapping, one_of, text, truth, whole
from domain.mail.triage.classification import MODEL_CLASSES
from domain.mail.triage.conditions import All, AnyOf, Condition, Label, Not
from domain.mail.triage.prompts import LONGEST_RULE, RuleScope
from domain.mail.triage.rules import AGENT, Rule, RuleDecision
from domain.payloads.mail_address import address_key, domain_key
from domain.privacy.secrets import looks_secret

UNSAVED = "unsaved"
"""The id of a rule that has none yet."""
LONGEST_NAME = 200
MOST_LABELS_NAMED = 50
MOST_PROFILES_LISTED = 20
"""In a refusal: whoever has more knows how to list them."""
_RULE = ("name", "priority", "enabled", "when", "then", "stop")
_TOLD = ("name", "enabled", "tell", "for", "labels")
_THEN = ("class", "needs_reply", "actions", "route")
_CLASSES = tuple(one.value for one in MODEL_CLASSES)


@dataclass(frozen=True, slots=True)
class ToldRule:
    """A rule in plain words for the model; `ref` is the domain or address that a narrow scope names."""

    name: str
    content: str
    scope: RuleScope = RuleScope.ACCOUNT
    ref: str | None = None
    labels: tuple[str, ...] = ()
    """Ids of the labels that it names: it is turned off when one of them vanishes."""
    enabled: bool = True


WrittenRule = Rule | ToldRule


def read_rule(value: object, path: Path, context: RuleContext = UNCHECKED) -> WrittenRule:
    """One rule of either kind; raises `DefectError` with every mistake in it."""
    if isinstance(value, Mapping) and "tell" in value:
        return _read_told(mapping(value, path, _TOLD), path, context.labels)
    given = mapping(value, path, _RULE)
    defects = Defects()
    for word in ("name", "when", "then"):
        if word not in given:
            defects.add(path, f"needs {word}")
    name = defects.attempt(lambda: _name(given.get("name", "-"), (*path, "name")))
    fields: dict[str, Any] = {"rule_id": UNSAVED, "name": name}
    for word, read in (("priority", whole), ("enabled", truth), ("stop", truth)):
        if word in given:
            fields[word] = defects.attempt(partial(read, given[word], (*path, word)))
    if "when" in given:
        reader = ConditionReader(context.labels)
        fields["condition"] = defects.attempt(lambda: reader.read(given["when"], (*path, "when")))
    if "then" in given:
        fields["decision"] = defects.attempt(lambda: _decision(given["then"], (*path, "then"), context))
    defects.check()
    places = {"condition": (*path, "when"), "decision": (*path, "then")}
    places |= {word: (*path, word) for word in ("name", "priority", "enabled", "stop")}
    return made(Rule, fields, path, places)


def write_rule(rule: WrittenRule) -> dict[str, Any]:
    """The rule as a document that `read_rule` reads as the same rule; what is usual is left out."""
    document: dict[str, Any] = {"name": rule.name}
    if not rule.enabled:
        document["enabled"] = False
    if isinstance(rule, ToldRule):
        return document | _told_document(rule)
    if rule.priority != Rule.model_fields["priority"].default:
        document["priority"] = rule.priority
    document["when"] = write_condition(rule.condition)
    decided = rule.decision
    given = {
        "class": decided.classification and decided.classification.value,
        "needs_reply": decided.needs_reply or None,
        "actions": [write_action(action) for action in decided.actions] or None,
        "route": decided.route,
    }
    document["then"] = {word: value for word, value in given.items() if value is not None}
    if not rule.stop:
        document["stop"] = False
    return document


def labels_named(rules: Iterable[WrittenRule]) -> frozenset[str]:
    """The labels that rules name, by id; Gmail's own, which every mailbox has, aside."""
    found: set[str] = set()
    for rule in rules:
        if isinstance(rule, ToldRule):
            found.update(rule.labels)
        else:
            found.update(_labels_in(rule.condition))
            found.update(one.label_id for one in rule.decision.actions if isinstance(one, (ApplyLabel, RemoveLabel)))
    return frozenset(one for one in found if one not in SYSTEM_LABELS)


def forwarded_to(rules: Iterable[WrittenRule]) -> frozenset[str]:
    """The addresses to which rules forward mail."""
    actions = (one for rule in rules if isinstance(rule, Rule) for one in rule.decision.actions)
    return frozenset(to for one in actions if isinstance(one, Forward) for to in (*one.to, *one.cc))


def _labels_in(condition: Condition) -> Iterator[str]:
    """Bounded by a rule's depth."""
    if isinstance(condition, Label):
        yield condition.label_id
    elif isinstance(condition, Not):
        yield from _labels_in(condition.condition)
    elif isinstance(condition, (All, AnyOf)):
        for one in condition.conditions:
            yield from _labels_in(one)


def _read_told(given: Mapping[str, object], path: Path, known: LabelNames) -> ToldRule:
    defects = Defects()
    if "name" not in given:
        defects.add(path, "needs name")
    name = defects.attempt(lambda: _name(given.get("name", "-"), (*path, "name")))
    content = defects.attempt(lambda: told(given["tell"], (*path, "tell")))
    reach = defects.attempt(lambda: _reach(given.get("for", "account"), (*path, "for")))
    labels = defects.attempt(lambda: _labels(given.get("labels", []), (*path, "labels"), known))
    enabled = defects.attempt(lambda: truth(given.get("enabled", True), (*path, "enabled")))
    defects.check()
    scope, ref = reach or (RuleScope.ACCOUNT, None)
    return ToldRule(name or "", content or "", scope, ref, labels or (), enabled=enabled is not False)


def told(value: object, path: Path) -> str:
    """What the model is told: one text that it is shown whole."""
    content = text(value, path)
    if len(one_line(content)) > LONGEST_RULE:
        raise defect(path, f"is longer than {LONGEST_RULE} characters, more than the model is shown")
    return content


def _name(value: object, path: Path) -> str:
    name = text(value, path)
    if len(name) > LONGEST_NAME:
        raise defect(path, f"is longer than {LONGEST_NAME} characters")
    if looks_secret(name):
        raise defect(path, "looks like a secret: the audit log shows names")
    return name


def _reach(value: object, path: Path) -> tuple[RuleScope, str | None]:
    if isinstance(value, str):
        return RuleScope(one_of(value, path, (RuleScope.ACCOUNT.value, RuleScope.GLOBAL.value))), None
    given = mapping(value, path, (RuleScope.DOMAIN.value, RuleScope.SENDER.value))
    if len(given) != 1:
        raise defect(path, "must be account, global, {domain: …} or {sender: …}")
    ((word, ref),) = given.items()
    read, key = (domains, domain_key) if word == RuleScope.DOMAIN else (addresses, address_key)
    (found,) = read(text(ref, (*path, word)), (*path, word))
    return RuleScope(word), key(found)


def _labels(value: object, path: Path, known: LabelNames) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise defect(path, "must be a list of labels")
    if len(value) > MOST_LABELS_NAMED:
        raise defect(path, f"names more than {MOST_LABELS_NAMED} labels")
    places = ((*path, place) for place in range(len(value)))
    return tuple(known.id_of(label(one, place), place) for one, place in zip(value, places, strict=True))


def _decision(value: object, path: Path, context: RuleContext) -> RuleDecision:
    given = mapping(value, path, _THEN)
    defects = Defects()
    fields: dict[str, Any] = {}
    if "class" in given:
        fields["classification"] = defects.attempt(lambda: one_of(given["class"], (*path, "class"), _CLASSES))
    if "needs_reply" in given:
        fields["needs_reply"] = defects.attempt(lambda: truth(given["needs_reply"], (*path, "needs_reply")))
    if "actions" in given:
        fields["actions"] = defects.attempt(lambda: read_actions(given["actions"], (*path, "actions"), context))
    if "route" in given:
        fields["route"] = defects.attempt(lambda: _route(given["route"], (*path, "route"), context))
    defects.check()
    return made(RuleDecision, fields, path, {"route": (*path, "route")})


def _route(value: object, path: Path, context: RuleContext) -> str:
    """Where messages are routed to; the form is the decision's to check."""
    route = text(value, path)
    name = route.removeprefix(AGENT)
    if route.startswith(AGENT) and context.profiles is not None and name not in context.profiles:
        listed = ", ".join(sorted(context.profiles)[:MOST_PROFILES_LISTED])
        known = f"known are {listed}" if listed else "there is none"
        raise defect(path, f"names no agent's profile: {name[:60]!r}; {known}")
    return route


def _told_document(rule: ToldRule) -> dict[str, Any]:
    document: dict[str, Any] = {"tell": rule.content}
    if rule.scope in {RuleScope.DOMAIN, RuleScope.SENDER}:
        document["for"] = {rule.scope.value: rule.ref}
    elif rule.scope is not RuleScope.ACCOUNT:
        document["for"] = rule.scope.value
    if rule.labels:
        document["labels"] = list(rule.labels)
    return document

"""Tries a rule on past messages: whether it matches, what it would do, or why it does not match."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.documents.paths import Path, as_field
from domain.jobs.job import JsonObject
from domain.mail.rule_language.conditions import All, AnyOf, Condition, Not
from domain.mail.rule_language.rules import Rule, RuleMatch, complete, decide_without_model, evaluate_all
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.mail_facts import MailFacts
from domain.mail.triage.safety import CheckedAction, SafetyEnforcer

LONGEST_REASON = 300
LONGEST_SUBJECT = 200
"""Characters of a subject that a line of a trial shows."""
BY_MODEL = "the model decides the class; where it is less sure than the policy asks, the actions wait"


@dataclass(frozen=True, slots=True)
class TriedRule:
    """What a rule would have done with one message. Nothing of it is done."""

    matched: bool
    """Whether the rule's conditions hold, and it was not passed over."""
    acts: bool
    """Whether the rule would have had a say: another rule may come first and stop."""
    reason: str
    """Why it does not match, or does not act; empty where it simply acts."""
    classification: Classification | None = None
    """The class that the message would have got; None where only the model could tell."""
    actions: tuple[CheckedAction, ...] = ()
    """The rule's own actions, each with the verdict of the safety policy."""
    route: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PastMail:
    """A stored message as if it had just come; its labels are those that it carries now."""

    message_id: str
    thread_id: str
    received_at: datetime
    facts: MailFacts


@dataclass(frozen=True, slots=True)
class TriedMessage:
    """A past message, and what the rule would have done with it."""

    past: PastMail
    tried: TriedRule

    def document(self) -> JsonObject:
        """The message and the outcome as HTTP and command line show them."""
        past, tried = self.past, self.tried
        message = past.facts.message
        return {
            "message_id": past.message_id,
            "thread_id": past.thread_id,
            "received_at": past.received_at,
            "sender": message.from_.address if message.from_ else "",
            "subject": message.subject[:LONGEST_SUBJECT],
            "matched": tried.matched,
            "acts": tried.acts,
            "reason": tried.reason,
            "classification": tried.classification and tried.classification.value,
            "actions": [
                {
                    "kind": one.action.kind.value,
                    "status": one.status,
                    "danger": one.danger,
                    "reasons": list(one.reasons),
                }
                for one in tried.actions
            ],
            "route": tried.route,
            "note": tried.note,
        }


@dataclass(frozen=True, slots=True)
class RuleTrial:
    """The messages that were tried, the latest first; `complete` is false when the time was over before the mail."""

    messages: tuple[TriedMessage, ...]
    complete: bool

    @property
    def examined(self) -> int:
        """How many messages were tried."""
        return len(self.messages)

    @property
    def matched(self) -> int:
        """How many of them the rule matches."""
        return sum(one.tried.matched for one in self.messages)

    def shown(self, *, show_all: bool) -> list[JsonObject]:
        """The messages that match, or all of them."""
        return [one.document() for one in self.messages if show_all or one.tried.matched]


def try_rule(rule: Rule, others: Sequence[Rule], facts: MailFacts, safety: SafetyEnforcer) -> TriedRule:
    """Try a rule among the account's other rules, as if it were on. Raises nothing and changes nothing."""
    tried = rule.model_copy(update={"enabled": True, "disabled_reason": None})
    alone = evaluate_all([tried], facts)
    if alone.match is None:
        if alone.skipped:
            return TriedRule(matched=False, acts=False, reason=f"it is passed over: {alone.skipped[0][1]}")
        return TriedRule(matched=False, acts=False, reason=why_not(tried.condition, facts))
    together = evaluate_all([*(one for one in others if one.rule_id != rule.rule_id), tried], facts).match
    if together is None or tried.rule_id not in together.rule_ids:
        return TriedRule(matched=True, acts=False, reason=_who_stops(together, others))
    return _act(tried, together, facts, safety)


def why_not(condition: Condition, facts: MailFacts, path: Path = ("when",)) -> str:
    """The first condition that does not hold, with its place."""
    return f"{_obstacle(condition, facts, path)} does not hold"[:LONGEST_REASON]


def _act(rule: Rule, match: RuleMatch, facts: MailFacts, safety: SafetyEnforcer) -> TriedRule:
    decided = decide_without_model(facts.automation, match)
    decision = complete(decided or _by_model(match), match, facts.automation)
    own = set(rule.decision.actions)
    return TriedRule(
        matched=True,
        acts=True,
        reason="",
        classification=None if decided is None else decision.classification,
        actions=tuple(one for one in safety.check(decision) if one.action in own),
        route=match.route if match.route == rule.decision.route else None,
        note=_note(rule, decided, decision),
    )


def _by_model(match: RuleMatch) -> Decision:
    """What the model might decide, as sure as can be: what waits even then, waits for certain."""
    return Decision(DecisionSource.LLM, Classification.FYI, 1.0, "not asked", actions=match.actions)


def _note(rule: Rule, decided: Decision | None, decision: Decision) -> str:
    if decided is None:
        return BY_MODEL
    wanted = rule.decision.classification
    if wanted is not None and decision.classification is not wanted:
        return f"the class is {decision.classification}, not {wanted}: {decided.rationale}"[:LONGEST_REASON]
    if rule.decision.needs_reply and not decision.needs_reply:
        return "no reply is drafted: the mail is automated"
    return ""


def _who_stops(match: RuleMatch | None, others: Sequence[Rule]) -> str:
    last = match.rule_ids[-1] if match else ""
    name = next((one.name for one in others if one.rule_id == last), last)
    return f"the rule {name!r} comes first and stops"[:LONGEST_REASON]


def _obstacle(condition: Condition, facts: MailFacts, path: Path) -> str:
    """Bounded by a rule's depth."""
    name, part = next((name, part) for name, part in condition.parts() if not part.matches(facts))
    word = condition.words[name]
    if isinstance(part, All):
        number, first = next((number, one) for number, one in enumerate(part.root) if not one.matches(facts))
        return _obstacle(first, facts, (*path, word, number))
    here = (*path, word) if isinstance(part, (Not, AnyOf)) else path
    written = condition.model_dump(mode="json", exclude_defaults=True, include={name})
    return f"{as_field(here)}: {json.dumps(written, ensure_ascii=False)[:200]}"

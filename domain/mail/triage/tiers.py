"""What is decided about a message before, and without, asking the model: automation first, then the owner's rules."""

from dataclasses import replace

from domain.mail.triage.automation import Automation
from domain.mail.triage.classification import (
    LONGEST_RATIONALE,
    Decision,
    decide_by_automation,
    respect_automation,
)
from domain.mail.triage.rules import RuleMatch

_OTHER_TIERS_WORDS = 400
"""Characters that are kept of another tier's rationale, so that the rules' names still fit."""


def decide_without_model(automation: Automation, match: RuleMatch | None) -> Decision | None:
    """The decision of the first two tiers; None where only the model can decide."""
    return decide_by_automation(automation) or (match.decision() if match else None)


def complete(decision: Decision, match: RuleMatch | None, automation: Automation) -> Decision:
    """Any tier's decision with the actions of the rules that matched, and without a reply where none is allowed.

    The rationale says whose the actions are.
    """
    if match and match.actions and not decision.actions:
        rationale = f"{decision.rationale[:_OTHER_TIERS_WORDS]} Actions by rule {', '.join(match.rule_ids)}."
        decision = replace(decision, actions=match.actions, rationale=rationale[:LONGEST_RATIONALE])
    return respect_automation(decision, automation)

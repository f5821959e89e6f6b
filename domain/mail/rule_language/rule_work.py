"""What it costs to try a rule on a message, known before anything is searched."""

from domain.mail.rule_language.conditions import All, AnyOf, Condition, ConditionPart, Not
from domain.mail.rule_language.safe_pattern import LONGEST_SEARCHED, compiled
from domain.mail.rule_language.text_conditions import TextCondition
from domain.mail.triage.mail_facts import MailFacts
from domain.orgs.spelling.normal_form import normal_pattern, searched_forms

MOST_WORK = 300_000_000
"""What the rules of one message may cost together. A unit takes at most about 15 ns: with 100,000 letters in the body
that are 150 ordinary patterns, or five seconds of the worst; with 4,000 letters, 3,700 patterns."""

PLAIN_STEPS = 2
"""What a letter costs that is compared without a pattern."""

TO_COMPILE, TO_COMPILE_STEP = 5_000, 10
"""What it costs to compile a pattern, and each of its steps."""


def work_of(condition: Condition, facts: MailFacts) -> int:
    """The letters that a condition looks at, times the steps for each; raises `Invalid` for a pattern of no use.

    It is an upper bound, for a condition may be decided before all of it is looked at. Bounded by a rule's depth.
    """
    return sum(_work_of(part, facts) for _, part in condition.parts())


def _work_of(part: ConditionPart, facts: MailFacts) -> int:
    match part:
        case All() | AnyOf():
            return sum(work_of(one, facts) for one in part.root)
        case Not():
            return work_of(part.root, facts)
        case TextCondition():
            texts = part.texts(facts)
        case _:
            return 0
    if part.pattern is None:
        return PLAIN_STEPS * sum(map(len, texts))
    steps: int = compiled(normal_pattern(part.pattern)).programsize
    letters = sum(min(len(form), LONGEST_SEARCHED) for text in texts for form in searched_forms(text))
    return TO_COMPILE + steps * (TO_COMPILE_STEP + letters)

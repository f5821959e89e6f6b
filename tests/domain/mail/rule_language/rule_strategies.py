"""Rules of every shape, for properties."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from domain.mail.rule_language.rule_words import UNSAVED, ToldRule, WrittenRule
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.classification import MODEL_CLASSES, Classification
from domain.mail.triage.conditions import LARGEST_SIZE
from domain.mail.triage.prompts import RuleScope
from domain.mail.triage.rules import DEEPEST_CONDITION, Rule, parse_rule

LETTERS = st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=("Cs", "Cc"))
ANY_TEXT = st.text(LETTERS, min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
LABEL = ANY_TEXT.map(str.strip)
WORD = st.text("abcdefgh0123456789", min_size=1, max_size=8)
ADDRESS = st.builds(lambda name, host: f"{name}@{host}.example", WORD, WORD)
DOMAIN = st.builds(lambda host: f"{host}.example", WORD)
HOURS = st.floats(0.001, 100_000, allow_nan=False)


def some(values: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(values, min_size=1, max_size=3)


def leaf(kind: str, optional: dict[str, st.SearchStrategy[Any]] | None = None, **fields: st.SearchStrategy[Any]) -> Any:  # noqa: ANN401 - a strategy
    required: dict[str, Any] = {"kind": st.just(kind), **fields}
    return st.fixed_dictionaries(required, optional=optional or {})


def compared(kind: str, **fields: st.SearchStrategy[Any]) -> Any:  # noqa: ANN401 - a strategy
    ways = [leaf(kind, None, **fields, **{way: ANY_TEXT}) for way in ("equals", "contains")]
    return st.one_of(leaf(kind, None, **fields), *ways, leaf(kind, None, **fields, pattern=WORD))


LEAVES = st.one_of(
    leaf("sender", addresses=some(ADDRESS)),
    leaf("domain", {"subdomains": st.booleans()}, domains=some(DOMAIN)),
    leaf("recipient", addresses=some(ADDRESS), position=st.sampled_from(["to", "cc", "any"])),
    compared("subject"),
    compared("body"),
    compared("header", name=WORD.map(lambda word: f"X-{word}")),
    leaf("label", label_id=LABEL),
    leaf("size", {"under": st.integers(10**8, LARGEST_SIZE)}, over=st.integers(1, 10**8 - 1)),
    leaf("attachment", {"content_type": ANY_TEXT, "ending": ANY_TEXT}),
    leaf("automated", kinds=st.lists(st.sampled_from([one.value for one in AutomationKind]), max_size=3)),
    leaf("age", {"under_hours": HOURS.map(lambda hours: hours + 900_000)}, over_hours=HOURS),
    leaf("first_contact"),
    leaf("has_my_reply"),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        leaf("not", condition=inner),
        *(leaf(kind, conditions=st.lists(inner, min_size=1, max_size=3)) for kind in ("all", "any")),
    ),
    max_leaves=4,
)
ACTIONS = st.one_of(
    st.sampled_from(["archive", "star", "trash", "delete", "mark_read"]).map(lambda kind: {"kind": kind}),
    leaf("apply_label", label_id=LABEL),
    leaf("forward", {"cc": some(ADDRESS), "note": ANY_TEXT}, to=some(ADDRESS)),
    leaf("auto_reply", text=ANY_TEXT),
    leaf("snooze", amount=st.integers(1, 366), units=st.sampled_from(["minutes", "hours", "days"])),
    leaf("snooze", until=st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)),
)


@st.composite
def decisions(draw: st.DrawFn) -> dict[str, Any]:
    decided: dict[str, Any] = {"actions": draw(st.lists(ACTIONS, max_size=3))}
    chosen = draw(st.none() | st.sampled_from(MODEL_CLASSES))
    if chosen is not None:
        decided["classification"] = chosen.value
        decided["needs_reply"] = chosen is Classification.NEEDS_RESPONSE and draw(st.booleans())
    if draw(st.booleans()) or (chosen is None and not decided["actions"]):
        decided["route"] = f"agent:{draw(WORD)}"
    return decided


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """A rule that the domain takes; what is nested too deep is not drawn again, for the leaves are few."""
    return parse_rule(
        {
            "rule_id": UNSAVED,
            "name": draw(ANY_TEXT),
            "priority": draw(st.integers(0, 10_000)),
            "enabled": draw(st.booleans()),
            "stop": draw(st.booleans()),
            "condition": draw(CONDITIONS.filter(lambda one: deepest(one) <= DEEPEST_CONDITION)),
            "decision": draw(decisions()),
        }
    )


def deepest(condition: dict[str, Any]) -> int:
    inside = [*condition.get("conditions", ()), *([condition["condition"]] if "condition" in condition else ())]
    return 1 + max((deepest(one) for one in inside), default=0)


@st.composite
def told_rules(draw: st.DrawFn) -> ToldRule:
    scope = draw(st.sampled_from(RuleScope))
    ref = {RuleScope.DOMAIN: DOMAIN, RuleScope.SENDER: ADDRESS}.get(scope, st.none())
    return ToldRule(
        draw(ANY_TEXT),
        draw(ANY_TEXT),
        scope,
        draw(ref),
        tuple(draw(st.lists(LABEL, max_size=2))),
        draw(st.booleans()),
    )


WRITTEN: st.SearchStrategy[WrittenRule] = st.one_of(rules(), told_rules())

"""Rules of every shape, for properties."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from domain.mail.rule_language.conditions import DEEPEST_CONDITION
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.classification import MODEL_CLASSES, Classification

LETTERS = st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=("Cs", "Cc"))
ANY_TEXT = st.text(LETTERS, min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
LABEL = ANY_TEXT.map(str.strip)
WORD = st.text("abcdefgh0123456789", min_size=1, max_size=8)
ADDRESS = st.builds(lambda name, host: f"{name}@{host}.example", WORD, WORD)
DOMAIN = st.builds(lambda host: f"{host}.example", WORD)
HOURS = st.floats(0.001, 10_000, allow_nan=False)
BYTES = st.integers(1, 10**8)


def word(name: str, value: st.SearchStrategy[Any]) -> Any:  # noqa: ANN401 - a strategy
    return value.map(lambda one: {name: one})


def one_or_more(values: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return values | st.lists(values, min_size=1, max_size=3)


def compared(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    ways = {"equals": ANY_TEXT, "contains": ANY_TEXT, "matches": WORD}
    return st.one_of(
        st.fixed_dictionaries(fields), *(st.fixed_dictionaries({**fields, way: text}) for way, text in ways.items())
    )


def written(hours: st.SearchStrategy[float]) -> st.SearchStrategy[str]:
    return st.builds(lambda number, unit: f"{number!r} {unit}", hours, st.sampled_from(["minutes", "hours", "days"]))


LEAVES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    word("from", one_or_more(ADDRESS)),
    word("domain", one_or_more(DOMAIN)),
    word("domain", st.fixed_dictionaries({"names": one_or_more(DOMAIN)}, optional={"subdomains": st.booleans()})),
    *(word(name, one_or_more(ADDRESS)) for name in ("to", "cc", "recipient")),
    word("subject", ANY_TEXT | st.integers() | compared()),
    word("body", ANY_TEXT | compared()),
    word("header", compared(name=WORD.map(lambda name: f"X-{name}"))),
    word("label", LABEL),
    word("size", st.builds(lambda over, under: {"over": over, "under": f"{under} MB"}, BYTES, st.integers(101, 1000))),
    word("attachment", st.booleans() | st.fixed_dictionaries({}, optional={"type": ANY_TEXT, "ending": ANY_TEXT})),
    word("automated", st.booleans() | one_or_more(st.sampled_from([one.value for one in AutomationKind]))),
    word("age", word("over", written(HOURS)) | word("under", written(HOURS))),
    word("first_contact", st.booleans()),
    word("has_my_reply", st.booleans()),
)
CONDITIONS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        word("not", inner),
        *(word(name, st.lists(inner, min_size=1, max_size=3)) for name in ("all", "any")),
        st.builds(lambda one, other: one | other, inner, inner),
    ),
    max_leaves=4,
)
ACTIONS = st.one_of(
    st.sampled_from(["archive", "star", "trash", "delete", "mark_read"]),
    word("apply_label", LABEL),
    word("forward", one_or_more(ADDRESS)),
    word(
        "forward",
        st.fixed_dictionaries({"to": one_or_more(ADDRESS)}, optional={"cc": one_or_more(ADDRESS), "note": ANY_TEXT}),
    ),
    word("auto_reply", ANY_TEXT),
    word("snooze", st.builds(lambda n, unit: f"{n} {unit}", st.integers(1, 52), st.sampled_from(["days", "weeks"]))),
    word("snooze", word("until", st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat))),
)


@st.composite
def decisions(draw: st.DrawFn) -> dict[str, Any]:
    decided: dict[str, Any] = {"actions": draw(st.lists(ACTIONS, max_size=3))}
    chosen = draw(st.none() | st.sampled_from(MODEL_CLASSES))
    if chosen is not None:
        decided["class"] = chosen.value
        decided["needs_reply"] = chosen is Classification.NEEDS_RESPONSE and draw(st.booleans())
    if draw(st.booleans()) or (chosen is None and not decided["actions"]):
        decided["route"] = f"agent:{draw(WORD)}"
    return decided


WHEN_RULES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "name": ANY_TEXT,
        "when": CONDITIONS.filter(lambda one: deepest(one) <= DEEPEST_CONDITION),
        "then": decisions(),
    },
    optional={"priority": st.integers(0, 10_000), "enabled": st.booleans(), "stop": st.booleans()},
)
TOLD_RULES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"name": ANY_TEXT, "tell": ANY_TEXT},
    optional={
        "for": st.sampled_from(["account", "global"]) | word("domain", DOMAIN) | word("sender", ADDRESS),
        "labels": st.lists(LABEL, max_size=2),
        "enabled": st.booleans(),
    },
)
DOCUMENTS = st.one_of(WHEN_RULES, TOLD_RULES)
"""Rules as people write them."""


def deepest(condition: dict[str, Any]) -> int:
    inside = [*condition.get("all", ()), *condition.get("any", ()), *([condition["not"]] if "not" in condition else ())]
    return 1 + max((deepest(one) for one in inside), default=0)

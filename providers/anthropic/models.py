"""What each Anthropic model costs and which request it takes; dated, as read on 2026-10-24.

Sources: https://platform.claude.com/docs/en/about-claude/pricing, the model pages
(https://platform.claude.com/docs/en/models/haiku-5-5/overview and its siblings) and the migration guides
(https://platform.claude.com/docs/en/models/sonnet-5-5/migration-guide). Model names are those of the
installed package (`anthropic.types.model`).
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from providers.ports.language_model import Usage

Thinking = Literal["disabled", "between_tools"]

LONG_PROMPT_TOKENS = 100_000
"""A prompt over this many tokens, cached ones counted, pays the long price where a model has one."""


@dataclass(frozen=True, slots=True)
class Price:
    """Thousandths of a US dollar per million tokens; 1 of them is a tenth of a microcent per token.

    A cache write costs 1.25 times the input for 5 minutes, twice for 1 hour.
    """

    fresh_input: int
    output: int
    cache_read: int

    def microcents(self, usage: Usage) -> int:
        """The whole call, rounded up to a microcent (1 cent is 1,000,000 microcents)."""
        quarters = 4 * (
            usage.input_tokens * self.fresh_input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_creation_1h_tokens * self.fresh_input * 2
        )
        quarters += usage.cache_creation_5m_tokens * self.fresh_input * 5
        return -(-quarters // 40)


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A model's price from a day on."""

    model: str
    since: date
    price: Price
    long: Price | None = None


_FABLE = Price(10_000, 50_000, 250)
_OPUS = Price(5_000, 25_000, 500)
_START = date(2026, 1, 1)

PRICES = (
    PriceRow("claude-haiku-5-5", date(2026, 10, 7), Price(100, 500, 10), long=Price(500, 2_500, 50)),
    PriceRow("claude-haiku-4-5", _START, Price(1_000, 5_000, 100)),
    PriceRow("claude-sonnet-5-5", date(2026, 10, 7), Price(2_000, 10_000, 100)),
    PriceRow("claude-sonnet-5-5", date(2026, 9, 28), Price(2_000, 10_000, 200)),
    PriceRow("claude-sonnet-5", _START, Price(2_000, 10_000, 200)),
    PriceRow("claude-sonnet-4-6", _START, Price(3_000, 15_000, 300)),
    PriceRow("claude-sonnet-4-5", _START, Price(3_000, 15_000, 300)),
    PriceRow("claude-opus-5-5", date(2026, 9, 22), Price(4_000, 20_000, 200)),
    PriceRow("claude-opus-5", _START, _OPUS),
    PriceRow("claude-opus-4-8", _START, _OPUS),
    PriceRow("claude-opus-4-7", _START, _OPUS),
    PriceRow("claude-opus-4-6", _START, _OPUS),
    PriceRow("claude-opus-4-5", _START, _OPUS),
    PriceRow("claude-fable-5-1", date(2026, 9, 1), _FABLE),
    PriceRow("claude-mythos-5-1", date(2026, 9, 1), _FABLE),
    PriceRow("claude-fable-5", _START, Price(10_000, 50_000, 1_000)),
    PriceRow("claude-mythos-5", _START, Price(10_000, 50_000, 1_000)),
)
"""The newest row of a model stands first."""

_DEAREST = PriceRow("", _START, Price(10_000, 50_000, 1_000))

_SNAPSHOT = re.compile(r"-\d{8}$")


def cost_microcents(model: str, usage: Usage, on: date) -> int:
    """What a call cost on a day, in microcents.

    An unknown model is priced as the most expensive known one: a budget must err on the careful
    side, and model and token counts are stored with each call, so the cost can be computed again.
    """
    row = _row(_name(model), on)
    price = row.long if row.long is not None and _prompt_tokens(usage) > LONG_PROMPT_TOKENS else row.price
    return price.microcents(usage)


def _row(name: str, on: date) -> PriceRow:
    rows = [row for row in PRICES if row.model == name]
    # A clock before the model's first day still gets a price: its first one.
    return next((row for row in rows if row.since <= on), rows[-1] if rows else _DEAREST)


def _name(model: str) -> str:
    """The model's name without the day of its snapshot."""
    return _SNAPSHOT.sub("", model)


def _prompt_tokens(usage: Usage) -> int:
    return (
        usage.input_tokens + usage.cache_creation_5m_tokens + usage.cache_creation_1h_tokens + usage.cache_read_tokens
    )


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model is asked for one tool call. `thinking` None leaves the field out."""

    forces_tool: bool
    thinking: Thinking | None


MANNERS = {
    "claude-haiku-5-5": Manner(forces_tool=True, thinking="disabled"),
    "claude-sonnet-5": Manner(forces_tool=True, thinking="disabled"),
    "claude-opus-5": Manner(forces_tool=True, thinking="disabled"),
    "claude-sonnet-5-5": Manner(forces_tool=False, thinking="between_tools"),
    "claude-opus-5-5": Manner(forces_tool=False, thinking=None),
    "claude-haiku-4-5": Manner(forces_tool=True, thinking=None),
    "claude-sonnet-4-5": Manner(forces_tool=True, thinking=None),
    "claude-sonnet-4-6": Manner(forces_tool=True, thinking=None),
    "claude-opus-4-5": Manner(forces_tool=True, thinking=None),
    "claude-opus-4-6": Manner(forces_tool=True, thinking=None),
    "claude-opus-4-7": Manner(forces_tool=True, thinking=None),
    "claude-opus-4-8": Manner(forces_tool=True, thinking=None),
}
"""Sonnet 5.5, Opus 5.5 and Fable 5.1 answer a forced `tool_choice` with 400; they are offered the tool and told to
use it. Thinking is on by default since Claude 5, clashes with forcing and eats `max_tokens`, so it is turned off
where the model allows that: by `disabled`, on Sonnet 5.5 by `between_tools`."""

CAREFUL = Manner(forces_tool=False, thinking=None)
"""A request that no model refuses."""


def manner_of(model: str) -> Manner:
    """How to ask this model; an unknown model gets a request that no model refuses."""
    return MANNERS.get(_name(model), CAREFUL)

from datetime import date
from typing import get_args

import pytest
from anthropic.types import Model
from hypothesis import given
from hypothesis import strategies as st

from providers.anthropic.models import CAREFUL, MANNERS, PRICES, cost_microcents, manner_of
from providers.ports.language_model import Usage
from settings import Settings

TODAY = date(2026, 11, 1)
MILLION = 1_000_000
CENTS = 1_000_000
"""Microcents in a cent."""

SHIPPED = {name for literal in get_args(Model) for name in get_args(literal)}


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-sonnet-5-5", Usage(input_tokens=MILLION), 2),
        ("claude-sonnet-5-5", Usage(output_tokens=MILLION), 10),
        ("claude-sonnet-5-5", Usage(cache_creation_5m_tokens=MILLION), 2.5),
        ("claude-sonnet-5-5", Usage(cache_creation_1h_tokens=MILLION), 4),
        ("claude-sonnet-5-5", Usage(cache_read_tokens=MILLION), 0.1),
        ("claude-opus-5-5", Usage(cache_read_tokens=MILLION), 0.2),
        ("claude-opus-5", Usage(cache_read_tokens=MILLION), 0.5),
        ("claude-fable-5-1", Usage(cache_read_tokens=MILLION), 0.25),
        ("claude-haiku-4-5-20251001", Usage(input_tokens=MILLION, output_tokens=MILLION), 6),
        ("claude-haiku-5-5", Usage(input_tokens=100_000, output_tokens=MILLION), 0.01 + 0.5),
        ("claude-haiku-5-5", Usage(input_tokens=100_001), 0.0500005),
        ("claude-haiku-5-5", Usage(input_tokens=1, cache_read_tokens=100_000, output_tokens=MILLION), 2.5050005),
    ],
)
def test_a_call_costs_what_the_price_list_says(model: str, usage: Usage, dollars: float) -> None:
    assert cost_microcents(model, usage, TODAY) == round(dollars * 100 * CENTS)


def test_a_price_holds_from_its_day_on() -> None:
    usage = Usage(cache_read_tokens=MILLION)
    assert cost_microcents("claude-sonnet-5-5", usage, date(2026, 10, 6)) == 20 * CENTS
    assert cost_microcents("claude-sonnet-5-5", usage, date(2026, 10, 7)) == 10 * CENTS
    assert cost_microcents("claude-sonnet-5-5", usage, date(2020, 1, 1)) == 20 * CENTS


def test_a_part_of_a_microcent_is_rounded_up() -> None:
    assert cost_microcents("claude-haiku-5-5", Usage(cache_creation_5m_tokens=1), TODAY) == 13


@given(tokens=st.integers(0, 10**7), known=st.sampled_from([row.model for row in PRICES]))
def test_an_unknown_model_is_never_cheaper_than_a_known_one(tokens: int, known: str) -> None:
    usage = Usage(tokens, tokens, tokens, tokens, tokens)
    assert cost_microcents("claude-unheard-of", usage, TODAY) >= cost_microcents(known, usage, TODAY)


def test_an_unknown_model_is_asked_carefully() -> None:
    assert manner_of("claude-unheard-of") == CAREFUL


def test_every_name_in_the_tables_is_one_the_package_ships() -> None:
    assert {row.model for row in PRICES} | set(MANNERS) <= SHIPPED


def test_the_models_we_use_are_priced_and_known() -> None:
    settings = Settings.model_fields
    for name in ("classify_model", "draft_model"):
        assert settings[name].default in {row.model for row in PRICES}
        assert settings[name].default in MANNERS

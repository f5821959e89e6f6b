"""Money is arithmetic: whatever calls are granted and whatever they cost, an org never spends more than its budget."""

from hypothesis import given
from hypothesis import strategies as st

from domain.models.money import TOKENS_AROUND, DailyBudget, tokens_at_most

amounts = st.integers(0, 1_000)
orders = st.lists(st.tuples(st.booleans(), amounts, st.floats(0, 1)), max_size=60)


@given(amounts, orders)
def test_an_org_never_spends_more_than_its_budget(daily: int, order: list[tuple[bool, int, float]]) -> None:
    """Calls begin and end in any order; each costs at most what was set aside for it."""
    budget, under_way = DailyBudget(daily), list[int]()
    for begins, amount, share in order:
        if begins and budget.grants(amount):
            budget = budget.reserve(amount)
            under_way.append(amount)
        elif not begins and under_way:
            reserved = under_way.pop(int(share * (len(under_way) - 1)))
            budget = budget.charge(reserved, int(share * reserved))
        assert budget.reserved == sum(under_way)
        assert 0 <= budget.left == daily - budget.spent - budget.reserved


@given(amounts, amounts, amounts, amounts)
def test_what_is_gone_is_not_granted_and_comes_back_by_no_settlement(
    daily: int, spent: int, reserved: int, amount: int
) -> None:
    budget = DailyBudget(daily, spent, reserved)
    if budget.gone(amount):
        assert not budget.grants(amount)
        assert not budget.charge(reserved, 0).grants(amount)
    else:
        assert budget.charge(reserved, 0).grants(amount)


def test_a_budget_that_was_lowered_below_what_is_spent_has_nothing_left() -> None:
    assert DailyBudget(daily=5, spent=9).left == 0
    assert not DailyBudget(daily=5, spent=9).grants(0)


@given(st.lists(st.text(max_size=50), max_size=4))
def test_no_prompt_has_more_tokens_than_bytes(texts: list[str]) -> None:
    assert tokens_at_most(*texts) == TOKENS_AROUND + len("".join(texts).encode())

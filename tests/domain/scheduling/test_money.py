"""Money is arithmetic: whatever calls are granted and whatever they cost, an org never spends more than its budget."""

from hypothesis import given
from hypothesis import strategies as st

from domain.scheduling.money import TOKENS_AROUND, Purse, tokens_at_most

amounts = st.integers(0, 1_000)
orders = st.lists(st.tuples(st.booleans(), amounts, st.floats(0, 1)), max_size=60)


@given(amounts, orders)
def test_an_org_never_spends_more_than_its_budget(daily: int, order: list[tuple[bool, int, float]]) -> None:
    """Calls begin and end in any order; each costs at most what was set aside for it."""
    purse, under_way = Purse(daily), list[int]()
    for begins, amount, share in order:
        if begins and purse.grants(amount):
            purse = purse.reserve(amount)
            under_way.append(amount)
        elif not begins and under_way:
            reserved = under_way.pop(int(share * (len(under_way) - 1)))
            purse = purse.settle(reserved, int(share * reserved))
        assert purse.reserved == sum(under_way)
        assert 0 <= purse.left == daily - purse.spent - purse.reserved


@given(amounts, amounts, amounts, amounts)
def test_what_is_gone_is_not_granted_and_comes_back_by_no_settlement(
    daily: int, spent: int, reserved: int, amount: int
) -> None:
    purse = Purse(daily, spent, reserved)
    if purse.gone(amount):
        assert not purse.grants(amount)
        assert not purse.settle(reserved, 0).grants(amount)
    else:
        assert purse.settle(reserved, 0).grants(amount)


def test_a_budget_that_was_lowered_below_what_is_spent_has_nothing_left() -> None:
    assert Purse(daily=5, spent=9).left == 0
    assert not Purse(daily=5, spent=9).grants(0)


@given(st.lists(st.text(max_size=50), max_size=4))
def test_no_prompt_has_more_tokens_than_bytes(texts: list[str]) -> None:
    assert tokens_at_most(*texts) == TOKENS_AROUND + len("".join(texts).encode())

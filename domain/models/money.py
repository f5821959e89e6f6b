"""What an org may spend on the model in a day: the arithmetic of reserving before a call and charging after it."""

from dataclasses import dataclass, replace

MICROCENTS_PER_CENT = 1_000_000
PROVIDER = "anthropic"
"""Whose calls an org pays for."""

TOKENS_AROUND = 2_000
"""Tokens that a provider adds to a prompt, such as its instructions about tools; an upper estimate."""


@dataclass(frozen=True, slots=True)
class DailyBudget:
    """An org's budget for one day, in microcents. `reserved` is the money of calls that are under way.

    `reserve` and `charge` compute what the functions of those names in `storage.models.money.spending` write.
    """

    daily: int
    spent: int = 0
    reserved: int = 0

    @property
    def left(self) -> int:
        """How much may still be reserved; 0 when the day is overspent because the budget was lowered."""
        return max(0, self.daily - self.spent - self.reserved)

    def grants(self, amount: int) -> bool:
        """Whether a call that costs at most `amount` may begin."""
        return self.spent + self.reserved + amount <= self.daily

    def gone(self, amount: int) -> bool:
        """Whether a call that costs at most `amount` could not begin even if the calls under way were free."""
        return self.spent + amount > self.daily

    def reserve(self, amount: int) -> "DailyBudget":
        """The budget once `amount` is reserved for a call."""
        return replace(self, reserved=self.reserved + amount)

    def charge(self, amount: int, cost: int) -> "DailyBudget":
        """The budget once a call that had reserved `amount` is charged `cost`."""
        return replace(self, reserved=self.reserved - amount, spent=self.spent + cost)


def tokens_at_most(*texts: str) -> int:
    """An upper bound for the tokens of a prompt: no token is shorter than a byte."""
    return sum(len(text.encode()) for text in texts) + TOKENS_AROUND

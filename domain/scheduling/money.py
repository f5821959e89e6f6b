"""What an org may spend on the model in a day: the arithmetic of reserving before a call and charging after it."""

from dataclasses import dataclass, replace

MICROCENTS_PER_CENT = 1_000_000

TOKENS_AROUND = 2_000
"""What a provider adds to a prompt (its own words about tools, the frame of a message), counted on the careful side."""


@dataclass(frozen=True, slots=True)
class DailyBudget:
    """One org's day, in microcents. What is reserved belongs to calls that are under way.

    `reserve` and `charge` say what the statements of the same names do to the day's row.
    """

    daily: int
    spent: int = 0
    reserved: int = 0

    @property
    def left(self) -> int:
        """What may still be reserved; never negative, though a budget that was lowered may be overspent."""
        return max(0, self.daily - self.spent - self.reserved)

    def grants(self, amount: int) -> bool:
        """Whether a call that costs at most so much may begin."""
        return self.spent + self.reserved + amount <= self.daily

    def gone(self, amount: int) -> bool:
        """Whether such a call cannot begin today, whatever becomes of the calls that are under way."""
        return self.spent + amount > self.daily

    def reserve(self, amount: int) -> "DailyBudget":
        """The day after a call was granted."""
        return replace(self, reserved=self.reserved + amount)

    def charge(self, amount: int, cost: int) -> "DailyBudget":
        """The day after a granted call cost what it cost."""
        return replace(self, reserved=self.reserved - amount, spent=self.spent + cost)


def tokens_at_most(*texts: str) -> int:
    """An upper bound for the tokens of a prompt: no token is shorter than a byte."""
    return sum(len(text.encode()) for text in texts) + TOKENS_AROUND

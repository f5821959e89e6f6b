"""The people of the day: three mailboxes in two orgs, and which letters and shares of mail are theirs."""

from dataclasses import dataclass

from sandbox.demo.letters import Letter


@dataclass(frozen=True, slots=True)
class Person:
    """A mailbox and its org; `seed` makes the ids of its messages unlike those of the others."""

    name: str
    org: str
    seed: int
    token: str = ""
    """An access token, where it is not made of the name; valid at the emulator only."""
    approves: bool = False
    """Whether they are asked on Discord about their org's actions; one Discord id and channel are for one org."""

    @property
    def email(self) -> str:
        """The address, a made-up one."""
        return f"{self.name}@postroom.example"

    @property
    def access_token(self) -> str:
        """The one of the first consent."""
        return self.token or f"local-access-{self.name}"

    @property
    def refresh_token(self) -> str:
        """Valid at the emulator only."""
        return f"local-refresh-{self.name}"


ANNA, BEN = Person("anna", "North Org", 1), Person("ben", "North Org", 2)
CLEO = Person("cleo", "South Org", 3, approves=True)
CAST = (ANNA, BEN, CLEO)
QUESTIONS = tuple(
    Letter(
        f"question {number}",
        f"Dora <dora{number}@example.org>",
        f"The plan, part {number}",
        f"Could you send me part {number} of the plan by Friday?\n",
        ends="drafted",
    )
    for number in (1, 2)
)
"""Letters whose drafts are made while answers get lost."""

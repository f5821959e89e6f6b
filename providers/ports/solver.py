"""The port behind which the best plan is found."""

from collections.abc import Callable, Sequence
from typing import Protocol

from domain.planning.programme import Programme, SolverAnswer


class Solver(Protocol):
    """Solves programmes of whole numbers. The same programme has the same answer, in each process."""

    def solve(
        self, programme: Programme, start: Sequence[int] | None, *, seconds: float, check: Callable[[], None]
    ) -> SolverAnswer:
        """The best values, proved or with what no plan exceeds when the time is over.

        `start` keeps all rows, and is the answer where nothing better is found. `check` is called every second in the
        caller's thread; what it raises stops the solver and goes through.
        """
        ...

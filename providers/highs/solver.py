"""The solver HiGHS behind our port. Its package brings numpy: load this module on demand, in workers of planning."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor, isfinite
from typing import Any, cast

import highspy
import numpy as np

from domain.jobs.failures import Permanent, Transient
from domain.planning.programme import MOST_POINTS, LinearRow, Programme, SolverAnswer

CHECK_EVERY_S = 1.0
STOPS_WITHIN_S = 30.0
"""HiGHS looks whether it has to stop between its steps, of which one took 3 s at most in the largest plans tried."""
OVERTIME_S = 10.0
"""HiGHS looks at its own time limit between steps, too; then it is told to stop."""
NEARLY = 1e-3
"""A bound that is so near to a whole number is that number: HiGHS calculates with tolerances of 10⁻⁶."""

OPTIONS: dict[str, Any] = {
    # Several threads crash and hang on some platforms (HiGHS issues 1670 and 2885), and find another of equal plans.
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    # The default calls a plan best that lacks 10⁻⁴ of the points. Points are whole: less than one is none.
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.999,
}

IMPOSSIBLE = {highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible}
"""What it says of a programme without a plan: nothing of a programme is without bounds."""


class _QuietHighs(highspy.Highs):
    """HiGHS without its banner, which would stand on a worker's standard output between the lines of its log."""

    def enableCallbacks(self) -> None:  # noqa: N802 - the package's name; its constructor calls it, and prints there
        self.setOptionValue("output_flag", False)  # noqa: FBT003 - the package's signature
        super().enableCallbacks()  # type: ignore[no-untyped-call]  # the package has no types


class HighsSolver:
    """Solves in a thread of its own, so that a cancel and the deadline reach it."""

    def __init__(self, check_every_s: float = CHECK_EVERY_S) -> None:
        """Nothing is shared between solves."""
        self._check_every_s = check_every_s

    def solve(
        self, programme: Programme, start: Sequence[int] | None, *, seconds: float, check: Callable[[], None]
    ) -> SolverAnswer:
        """See `Solver`."""
        if not programme.gains:
            return SolverAnswer((), programme.pinned_points) if programme.keeps(()) else SolverAnswer(None, None)
        until = time.monotonic() + seconds

        def run(part: Programme, *, whole: bool) -> Any:  # noqa: ANN401 - highspy has no types
            highs = _highs(part, None if start is None or not part.keeps(start) else start, whole=whole)
            self._run(highs, max(0.0, until - time.monotonic()), check)
            return highs

        parts = _split(programme, lambda part: run(part, whole=False))
        best: SolverAnswer | None = None
        for part, bound in parts:
            if best is not None and best.values is not None and bound <= programme.points(best.values):
                continue
            found = _answer(run(part, whole=True), part, start, bound)
            best = found if best is None else _better(programme, best, found)
        return best or SolverAnswer(None, None)

    def _run(self, highs: Any, seconds: float, check: Callable[[], None]) -> None:  # noqa: ANN401 - untyped
        """Let it solve until it is done, until `check` raises, or until the time is over."""
        highs.setOptionValue("time_limit", seconds)
        highs.HandleUserInterrupt = True
        running = threading.Thread(target=highs.run, name="highs", daemon=True)
        running.start()
        until = time.monotonic() + seconds + OVERTIME_S
        try:
            while running.is_alive() and time.monotonic() < until:
                running.join(self._check_every_s)
                if running.is_alive():
                    check()
        finally:
            highs.cancelSolve()
            running.join(STOPS_WITHIN_S)
        if running.is_alive():
            raise Transient("the solver does not stop", code="highs.stuck")


def _split(programme: Programme, relax: Callable[[Programme], Any]) -> list[tuple[Programme, int]]:
    """The programme in parts, each with what none of its plans exceeds, the best first.

    The largest share is often no whole number while choices may be halves. The solver would find that out late, after
    minutes with a bound that is a few points too high; below and above the number the bounds are right.
    """
    share, (bound, value) = len(programme.choices), _relaxed(relax(programme), programme)
    if value is None or min(value % 1, -value % 1) < NEARLY:
        return [(programme, bound)]
    least = floor(value)
    uppers = (*programme.uppers[:share], least, *programme.uppers[share + 1 :])
    above = LinearRow(-(least + 1), ((share, -1),))
    parts = [replace(programme, uppers=uppers), replace(programme, rows=(*programme.rows, above))]
    bounded = [(part, _relaxed(relax(part), part)[0]) for part in parts]
    return sorted(bounded, key=lambda one: -one[1])


def _relaxed(highs: Any, programme: Programme) -> tuple[int, float | None]:  # noqa: ANN401 - untyped
    """What no plan exceeds, and the largest share, while choices may be fractions; no share where there is none."""
    share, status = len(programme.choices), highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        return -MOST_POINTS if status in IMPOSSIBLE else programme.ceiling, None
    bound = min(programme.ceiling, floor(highs.getInfo().objective_function_value + NEARLY))
    return bound, float(highs.getSolution().col_value[share]) if len(programme.gains) > share else None


def _better(programme: Programme, one: SolverAnswer, other: SolverAnswer) -> SolverAnswer:
    """The answer of a whole from those of its two parts."""
    values = [answer.values for answer in (one, other) if answer.values is not None]
    bounds = [answer.most for answer in (one, other) if answer.most is not None]
    return SolverAnswer(max(values, key=programme.points, default=None), max(bounds, default=None))


def _highs(programme: Programme, start: Sequence[int] | None, *, whole: bool) -> Any:  # noqa: ANN401 - untyped
    highs = cast(Any, _QuietHighs)()  # no types there either
    for name, value in OPTIONS.items():
        highs.setOptionValue(name, value)
    model = _model(programme)
    if whole:
        model.integrality_ = [highspy.HighsVarType.kInteger] * len(programme.gains)
    highs.passModel(model)
    if whole and start is not None:
        known = highspy.HighsSolution()
        known.col_value = [float(value) for value in start]
        highs.setSolution(known)
    return highs


def _model(programme: Programme) -> Any:  # noqa: ANN401 - highspy's class
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(programme.gains), len(programme.rows)
    model.sense_ = highspy.ObjSense.kMaximize
    model.offset_ = float(programme.pinned_points)
    model.col_cost_ = np.array(programme.gains, dtype=np.float64)
    model.col_lower_ = np.zeros(len(programme.gains))
    model.col_upper_ = np.array(programme.uppers, dtype=np.float64)
    model.row_lower_ = np.full(len(programme.rows), -highspy.kHighsInf)
    model.row_upper_ = np.array([row.most for row in programme.rows], dtype=np.float64)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    ends = np.cumsum([0, *(len(row.terms) for row in programme.rows)])
    model.a_matrix_.start_ = ends.astype(np.int32)
    terms = [term for row in programme.rows for term in row.terms]
    model.a_matrix_.index_ = np.array([index for index, _ in terms], dtype=np.int32)
    model.a_matrix_.value_ = np.array([factor for _, factor in terms], dtype=np.float64)
    return model


def _answer(highs: Any, programme: Programme, start: Sequence[int] | None, ceiling: int) -> SolverAnswer:  # noqa: ANN401 - untyped
    status, info = highs.getModelStatus(), highs.getInfo()
    if status in IMPOSSIBLE:
        return SolverAnswer(None, None)
    values = tuple(start) if start is not None and programme.keeps(start) else None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = tuple(round(value) for value in highs.getSolution().col_value)
    if values is not None and not programme.keeps(values):
        raise Permanent("the solver's plan breaks a rule of its own programme", code="highs.wrong")
    bound = info.mip_dual_bound
    most = min(floor(bound + NEARLY), ceiling) if isfinite(bound) else ceiling
    return SolverAnswer(values, most if values is None else max(most, programme.points(values)))

"""The solver HiGHS behind our port. Its package brings numpy: load this module on demand, in workers of planning."""

import threading
import time
from collections.abc import Callable, Sequence
from math import floor, isfinite
from typing import Any

import highspy
import numpy as np

from domain.jobs.failures import Permanent, Transient
from domain.planning.programme import Answer, Programme

CHECK_EVERY_S = 1.0
STOPS_WITHIN_S = 30.0
"""HiGHS looks whether it has to stop between its steps, of which one took 3 s at most in the largest plans tried."""
OVERTIME_S = 10.0
"""HiGHS looks at its own time limit between steps, too; then it is told to stop."""
NEARLY = 1e-3
"""A bound that is so near to a whole number is that number: HiGHS calculates with tolerances of 10⁻⁶."""

OPTIONS: dict[str, Any] = {
    "output_flag": False,
    # Several threads crash and hang on some platforms (HiGHS issues 1670 and 2885), and find another of equal plans.
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    # The default calls a plan best that lacks 10⁻⁴ of the points. Points are whole: less than one is none.
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.999,
}


class HighsSolver:
    """Solves in a thread of its own, so that a cancel and the deadline reach it."""

    def __init__(self, check_every_s: float = CHECK_EVERY_S) -> None:
        """Nothing is shared between solves."""
        self._check_every_s = check_every_s

    def solve(
        self, programme: Programme, start: Sequence[int] | None, *, seconds: float, check: Callable[[], None]
    ) -> Answer:
        """See `Solver`."""
        if not programme.gains:
            feasible = programme.keeps(())
            return Answer((), programme.pinned_points) if feasible else Answer(None, None)
        highs = highspy.Highs()
        for name, value in OPTIONS.items():
            highs.setOptionValue(name, value)
        highs.setOptionValue("time_limit", max(0.0, seconds))
        highs.HandleUserInterrupt = True
        highs.passModel(_model(programme))
        if start is not None:
            known = highspy.HighsSolution()
            known.col_value = [float(value) for value in start]
            highs.setSolution(known)
        self._run(highs, seconds + OVERTIME_S, check)
        return _answer(highs, programme, start)

    def _run(self, highs: highspy.Highs, seconds: float, check: Callable[[], None]) -> None:
        """Let it solve until it is done, until `check` raises, or until the time is over."""
        running = threading.Thread(target=highs.run, name="highs", daemon=True)
        running.start()
        until = time.monotonic() + seconds
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


def _model(programme: Programme) -> Any:  # noqa: ANN401 - highspy's class
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(programme.gains), len(programme.rows)
    model.sense_ = highspy.ObjSense.kMaximize
    model.offset_ = float(programme.pinned_points)
    model.col_cost_ = np.array(programme.gains, dtype=np.float64)
    model.col_lower_ = np.zeros(len(programme.gains))
    model.col_upper_ = np.array(programme.uppers, dtype=np.float64)
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(programme.gains)
    model.row_lower_ = np.full(len(programme.rows), -highspy.kHighsInf)
    model.row_upper_ = np.array([row.most for row in programme.rows], dtype=np.float64)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    ends = np.cumsum([0, *(len(row.terms) for row in programme.rows)])
    model.a_matrix_.start_ = ends.astype(np.int32)
    terms = [term for row in programme.rows for term in row.terms]
    model.a_matrix_.index_ = np.array([index for index, _ in terms], dtype=np.int32)
    model.a_matrix_.value_ = np.array([factor for _, factor in terms], dtype=np.float64)
    return model


def _answer(highs: highspy.Highs, programme: Programme, start: Sequence[int] | None) -> Answer:
    status, info = highs.getModelStatus(), highs.getInfo()
    if status in {highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible}:
        return Answer(None, None)
    values = None if start is None else tuple(start)
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = tuple(round(value) for value in highs.getSolution().col_value)
    if values is not None and not programme.keeps(values):
        raise Permanent("the solver's plan breaks a rule of its own programme", code="highs.wrong")
    bound = info.mip_dual_bound
    most = min(floor(bound + NEARLY), programme.ceiling) if isfinite(bound) else programme.ceiling
    return Answer(values, most if values is None else max(most, programme.points(values)))

"""Tuning rounds: find each contender's fastest setting on this machine before it is compared with others."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from bench.contest import take_turns
from bench.drain import DrainRun
from bench.setup import Setup

Rate = Callable[[DrainRun], float]
"""Runs one drain and returns jobs per second."""

CLOSE = 0.6
"""A setting at this share of the fastest rate may be as fast: two short drains of one setting differ by that much."""
AGAIN = 2
"""How often each close setting drains the whole backlog, in turns; the median decides."""


def best_setting(setup: Setup, name: str, settings: Sequence[DrainRun], rate: Rate) -> DrainRun | None:
    """The setting with which a contender is fastest; None when no setting ran. The answer is kept for the whole run.

    A contender with a single setting drains once here too, because the first drain on fresh servers is slower: the
    servers allocate their files during it.
    """
    by_label = {run.setting.label: run for run in settings}
    found = setup.best_settings.get(name) or _find(setup, name, by_label, rate)
    if found is None:
        return None
    setup.best_settings[name] = found
    return by_label[found]


def close_to_fastest(rates: Mapping[str, float], jobs: int, time_limit_s: float) -> list[str]:
    """The settings that a tuning round cannot tell from the fastest and that would empty the whole backlog in time.

    A setting that would not empty it is rated by its jobs in a fixed time, which does not depend on the backlog's size,
    so its tuning round is measurement enough.
    """
    close = CLOSE * max(rates.values(), default=0.0)
    return [label for label, rate in rates.items() if rate >= close and rate * time_limit_s >= jobs]


def _find(setup: Setup, name: str, settings: Mapping[str, DrainRun], rate: Rate) -> str | None:
    whole = next(iter(settings.values()))
    jobs, time_limit_s = min(setup.sizes.tuning_jobs, whole.jobs), whole.time_limit_s / 2
    short = {label: replace(run, jobs=jobs, time_limit_s=time_limit_s) for label, run in settings.items()}
    rates = _run(setup, f"tuning round of {name}", short, 1, rate)
    close = close_to_fastest(rates, whole.jobs, whole.time_limit_s)
    finals = {label: settings[label] for label in close if len(close) > 1}
    rates = _run(setup, f"final tuning round of {name}", finals, AGAIN, rate) or rates
    return max(rates, key=rates.__getitem__, default=None)


def _run(setup: Setup, what: str, runs: Mapping[str, DrainRun], rounds: int, rate: Rate) -> Mapping[str, float]:
    runners = {label: partial(rate, run) for label, run in runs.items()}
    ran = take_turns(runners, rounds, lambda line: setup.print_line(f"{what}, {line}"))
    setup.note_dropped(what, dict(ran.dropped))
    medians = {label: statistics.median(figures) for label, figures in ran.figures.items()}
    if medians:
        setup.tuning_rounds[what] = medians
    return medians

"""Heats: which of a contender's settings is its best on this machine, found before it is compared with anybody."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from bench.arena import Arena
from bench.contest import take_turns
from bench.drain import Heat

Rate = Callable[[Heat], float]
"""Runs a heat and tells jobs per second."""

CLOSE = 0.6
"""How far below the fastest a short heat may show one that is as fast: two heats of one setting differ by so much."""
AGAIN = 2
"""Drains of the whole backlog for each that came close, in turns; their median decides."""


def best_of(arena: Arena, name: str, settings: Sequence[Heat], rate: Rate) -> Heat | None:
    """The setting with which a contender is fastest; None when none of them ran. Once found it stands for the run.

    Who has one setting runs it too: the first drain on fresh servers is slower, for they lay out their files with it.
    """
    by_label = {heat.setting.label: heat for heat in settings}
    found = arena.best_settings.get(name) or _find(arena, name, by_label, rate)
    if found is None:
        return None
    arena.best_settings[name] = found
    return by_label[found]


def finalists(rates: Mapping[str, float], jobs: int, box_s: float) -> list[str]:
    """The settings that a short heat cannot tell from the fastest and that would empty the whole backlog in its time.

    Who would not is rated by what it does in a fixed time, whatever the backlog, so that the short heat says enough.
    """
    close = CLOSE * max(rates.values(), default=0.0)
    return [label for label, rate in rates.items() if rate >= close and rate * box_s >= jobs]


def _find(arena: Arena, name: str, settings: Mapping[str, Heat], rate: Rate) -> str | None:
    whole = next(iter(settings.values()))
    jobs, box_s = min(arena.sizes.heat_jobs, whole.jobs), whole.box_s / 2
    short = {label: replace(heat, jobs=jobs, box_s=box_s) for label, heat in settings.items()}
    rates = _run(arena, f"heat of {name}", short, 1, rate)
    close = finalists(rates, whole.jobs, whole.box_s)
    finals = {label: settings[label] for label in close if len(close) > 1}
    rates = _run(arena, f"final of {name}", finals, AGAIN, rate) or rates
    return max(rates, key=rates.__getitem__, default=None)


def _run(arena: Arena, what: str, heats: Mapping[str, Heat], rounds: int, rate: Rate) -> Mapping[str, float]:
    runners = {label: partial(rate, heat) for label, heat in heats.items()}
    ran = take_turns(runners, rounds, lambda told: arena.tell(f"{what}, {told}"))
    arena.dropped(what, dict(ran.dropped))
    medians = {label: statistics.median(figures) for label, figures in ran.figures.items()}
    if medians:
        arena.heats[what] = medians
    return medians

"""What a sweep found, as `build/sweep/` keeps it."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.house.reading import ROOT
from tests.sweep.exploration import Swept, violations_of

FOLDER = ROOT / "build" / "sweep"


def summary(swept: Sequence[Swept]) -> dict[str, Any]:
    """The figures of a whole sweep, by job type and scenario too, and every violation in words."""
    types: dict[str, dict[str, Any]] = defaultdict(dict)
    for one in swept:
        types[one.job_type][one.scenario] = {
            "boundaries": one.boundaries,
            "points": one.points,
            "real_deaths": one.real_deaths,
            "undecided": one.undecided,
            "faults": dict(sorted(one.faults.items())),
            "crossed_in": dict(sorted(one.crossed_in.items())),
            "went_through": dict(sorted(one.stations.items())),
            "skipped": one.skipped,
            "violations": len(one.violations),
        }
    found = list(violations_of(swept))
    return {
        "job_types": len(types),
        "scenarios": len(swept),
        "points": sum(one.points for one in swept),
        "real_deaths": sum(one.real_deaths for one in swept),
        "undecided": sum(one.undecided for one in swept),
        "faults": dict(sorted(sum((one.faults for one in swept), Counter()).items())),
        "crossed_in": dict(sorted(sum((one.crossed_in for one in swept), Counter()).items())),
        "went_through": dict(sorted(sum((one.stations for one in swept), Counter()).items())),
        "skipped": sum(len(one.skipped) for one in swept),
        "violations": len(found),
        "types": dict(sorted(types.items())),
        "found": found,
    }


def write(name: str, swept: Sequence[Swept]) -> Path:
    """Write `build/sweep/<name>.json`, which is whole at every moment; returns where it is."""
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(summary(swept), indent=2) + "\n")
    return draft.replace(path)

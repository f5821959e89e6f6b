"""`results.json`: the results of this run and of earlier ones, by contest."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.setup import ContestGroup, Sizes

Results = dict[str, dict[str, object]]
NAME = "results.json"


def known_names(groups: Iterable[ContestGroup], sizes: Sizes) -> list[str]:
    """The names of all contests, in the order in which they run."""
    return [name for group in groups for name in group.names(sizes)]


def read(folder: Path) -> Results:
    """Results of earlier runs, empty before the first; `ValueError` names a file that holds something else."""
    path = folder / NAME
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path} cannot be read, move it away: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(result, dict) for result in found.values()):
        raise ValueError(f"{path} cannot be read, move it away: it is not {{name: result}}")
    return found


def write(folder: Path, results: Results, order: Sequence[str]) -> None:
    """Write results in the given order, unknown names last; a run that is killed meanwhile leaves the old file."""
    places = {name: place for place, name in enumerate(order)}
    ordered = {name: results[name] for name in sorted(results, key=lambda name: places.get(name, len(places)))}
    draft = folder / f"{NAME}.part"
    draft.write_text(json.dumps(ordered, indent=2) + "\n")
    draft.replace(folder / NAME)

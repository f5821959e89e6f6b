"""`results.json`: what was measured, contest by contest, in this run and in earlier ones."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.arena import Sizes, Stage

Results = dict[str, dict[str, object]]
NAME = "results.json"


def known_names(stages: Iterable[Stage], sizes: Sizes) -> list[str]:
    """All contests that there are, in the order in which they are held."""
    return [name for stage in stages for name in stage.names(sizes)]


def read(folder: Path) -> Results:
    """Results of earlier runs, none where no run was; `ValueError` names a file that holds something else."""
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
    """Write results by the order of their names, others last; a run that is killed meanwhile leaves the old file."""
    places = {name: place for place, name in enumerate(order)}
    ordered = {name: results[name] for name in sorted(results, key=lambda name: places.get(name, len(places)))}
    draft = folder / f"{NAME}.part"
    draft.write_text(json.dumps(ordered, indent=2) + "\n")
    draft.replace(folder / NAME)

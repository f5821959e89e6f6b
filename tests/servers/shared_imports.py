"""How the workers of pytest-xdist share the compiling of the tests in a fresh clone.

All of them collect the same files in the same order, at the same time, and each would rewrite the assertions of each
file: half of a minute of CPU four times. So each imports a share of the files first, and finds the others compiled.
"""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.servers.scheduling import leaves_out


def import_share(config: pytest.Config, worker: int, workers: int) -> None:
    """Import each file of tests whose turn is this worker's, among those that the run takes.

    What is wrong with a file is said when it is collected.
    """
    places = [
        place for place in files_of_tests(config.rootpath, config.args) if not leaves_out(config.option.length, place)
    ]
    for place in share(places, worker, workers):
        with suppress(ImportError, SyntaxError):
            importlib.import_module(place.removesuffix(".py").replace("/", "."))  # by string: the files are found


def files_of_tests(root: Path, arguments: Iterable[str]) -> Iterator[str]:
    """The files of tests in what a run was asked for: files, folders and tests; from the repository's root."""
    for argument in arguments:
        asked = root / argument.partition("::")[0]
        found = asked.rglob("test_*.py") if asked.is_dir() else [asked] if asked.is_file() else []
        yield from sorted(path.relative_to(root).as_posix() for path in found)


def share(places: Sequence[str], worker: int, workers: int) -> Sequence[str]:
    """One worker's part: neighbours, which share what they import, go to different workers."""
    return places[worker::workers]

"""The shape of the folders: few entries, no circles between sub-rooms, no import by string."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.house.reading import ROOT, Module, dotted, read_house

MOST_ENTRIES = 20

FREE_OF_SIBLINGS = (
    "domain/payloads",
    "storage/functions",
    "storage/migrations/sql",
    "storage/migrations/versions",
    "tests/golden",
)
"""Folders whose files are a list that grows: payloads, functions by area, migrations, goldens."""
PROGRAMS = ("bench", "tests")
"""Programs and proofs of their own, which nobody imports."""

BY_STRING = {
    "domain.payloads.__init__": "the walk that finds the payload classes",
    "domain.payloads.own_packages": "the modules that a setting and installed packages name",
    "tasks.__init__": "the walk that finds the families",
    "operations.areas": "the walk that finds the areas",
    "gateway.console.pages.__init__": "the walk that finds the pages by hand",
    "observability.on_demand": "packages of vendors, metrics and traces cost much, and most processes need none",
    "storage.orgs.secrets.sealing": "the ciphers' package costs 6 MiB, and most processes seal nothing",
    "sandbox.servers.wheel_binaries": "looks for an installed package, and imports nothing of ours",
    "bench.peers.with_huey": "its own program finds its tasks by a module's name",
}
"""Who may import by a string, and why."""

House = Sequence[Module]


@pytest.fixture(scope="module")
def house() -> House:
    return read_house()


def crowded(files: Iterable[Path]) -> list[str]:
    """Folders with more entries than a person sees at once; a module and its statements are one entry.

    Folders count, too, but not those of programs and proofs, which mirror the rooms.
    """
    entries: dict[Path, set[str]] = defaultdict(set)
    for path in files:
        for entry, folder in zip((path, *path.parents), path.parents, strict=False):
            if entry.stem != "__init__" and (entry == path or path.parts[0] not in PROGRAMS):
                entries[folder].add(entry.stem)
    return [
        f"{folder}/ has {len(inside)} entries, {MOST_ENTRIES} at most: two areas live in it"
        for folder, inside in entries.items()
        if len(inside) > MOST_ENTRIES and folder != Path() and folder.as_posix() not in FREE_OF_SIBLINGS
    ]


def child_of(folder: str, name: str) -> str | None:
    """The direct child of a folder in which a module stands; None for one outside, and for the folder itself."""
    inside = name.removeprefix(f"{folder}.")
    return None if inside in {name, "__init__"} else inside.partition(".")[0]


def arrows_inside(folder: str, house: House) -> dict[str, set[str]]:
    """Who imports whom among a folder's direct children, files and folders alike."""
    arrows: dict[str, set[str]] = {}
    for module in house:
        own = child_of(folder, module.name)
        if own is None:
            continue
        met = {child_of(folder, found.target) for found in module.imports()}
        arrows.setdefault(own, set()).update(one for one in met if one is not None and one != own)
    return {name: {one for one in met if one in arrows} for name, met in arrows.items()}


def folders_of(house: House) -> list[str]:
    """Every folder, each with those that it lies in."""
    parts = [module.name.split(".") for module in house]
    return sorted({".".join(names[:depth]) for names in parts for depth in range(1, len(names))})


def circular(house: House) -> list[str]:
    complaints = []
    for folder in folders_of(house):
        if folder.partition(".")[0] in PROGRAMS:
            continue
        try:
            TopologicalSorter(arrows_inside(folder, house)).prepare()
        except CycleError as error:
            complaints.append(f"{folder}: {' -> '.join(error.args[1])} is a circle: move what both need below them")
    return complaints


def imports_by_string(house: House) -> list[str]:
    found = []
    for module in house:
        if module.name in BY_STRING or module.room == "tests":
            continue
        found += [
            f"{module.at(node)} imports by string: import it, or say in BY_STRING why not"
            for node in module.nodes()
            if isinstance(node, ast.Call) and dotted(node.func).endswith(("import_module", "__import__"))
        ]
    return found


def test_no_folder_is_crowded() -> None:
    files = [path.relative_to(ROOT) for module in read_house() if (path := ROOT / module.path).exists()]
    files += [path.relative_to(ROOT) for path in (ROOT / "storage").rglob("*.sql")]
    complaints = crowded(files)
    assert not complaints, "\n" + "\n".join(complaints)


def test_folders_are_free_of_circles(house: House) -> None:
    complaints = circular(house)
    assert not complaints, "\n" + "\n".join(complaints)


def test_nothing_is_imported_by_string_without_a_reason(house: House) -> None:
    complaints = imports_by_string(house)
    assert not complaints, "\n" + "\n".join(complaints)


def test_each_reason_for_an_import_by_string_is_needed(house: House) -> None:
    users = {module.name for module in house if "import_module" in module.source or "importlib.util" in module.source}
    assert set(BY_STRING) <= users


def test_a_crowded_folder_is_found() -> None:
    many = [Path(f"engine/m{n}.py") for n in range(MOST_ENTRIES + 1)]
    assert len(crowded(many)) == 1
    assert crowded(many[1:]) == []
    assert crowded(Path(f"domain/payloads/m{n}.py") for n in range(99)) == []
    assert len(crowded(Path(f"tasks/mail/m{n}.py") for n in range(99))) == 1
    pairs = [Path(f"storage/jobs/m{n}.{kind}") for n in range(MOST_ENTRIES) for kind in ("py", "sql")]
    assert crowded(pairs) == []
    assert len(crowded([*pairs, Path("storage/jobs/more/m.py")])) == 1


def test_a_circle_between_sub_rooms_is_found() -> None:
    around = [
        Module("storage.jobs.a", "from storage.models.money.b import x"),
        Module("storage.models.money.b", ""),
        Module("storage.models.money.c", "from storage.jobs.d import y"),
        Module("storage.jobs.d", ""),
    ]
    (complaint,) = circular(around)
    assert "is a circle" in complaint


def test_an_import_by_string_is_found() -> None:
    assert imports_by_string([Module("tasks.mail.gmail", "import importlib\nimportlib.import_module('a')")]) == [
        "tasks/mail/gmail.py:2 imports by string: import it, or say in BY_STRING why not",
    ]

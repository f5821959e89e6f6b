"""The order in which a whole run takes its tests: long ones first, and what shares a costly fixture together.

A worker of pytest-xdist takes one unit of work after another. A unit is a file, so that a fixture of a module is made
once. In the folders below each test is a unit, because each takes long and shares little.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from xdist.scheduler import LoadScopeScheduling

LONG = (
    "tests/tools/test_scaffolds.py",
    "tests/recipes",
    "tests/runbooks/test_broken_fleets.py",
    "tests/runbooks/test_broken_states.py",
    "tests/storage/jobs/plans",
    "tests/deploy/test_compose.py",
    "tests/deploy/test_image.py",
    "tests/gateway/console/test_page_plans.py",
    "tests/gateway/console/test_scopes.py",
    "tests/operations/orgs/moves",
    "tests/domain/mail/corpus/test_mutants.py",
    "tests/fleet/rabbitmq",
    "tests/sandbox/demo/test_demo.py",
    "tests/chaos/test_chaos_smoke.py",
    "tests/fleet/hanging",
    "tests/sweep",
    "tests/fleet",
    "tests/model",
    "tests/bench",
    "tests/cluster",
    "tests/attacks",
    "tests/gateway/api/test_description.py",
    "tests/clients/installed",
    "tests/providers/highs/test_many_plans.py",
)
"""Files and folders that `make test-long` takes and `make test` leaves: together they take half of the whole run."""

BROWSER = ("tests/browser",)
"""Folders that `make test-browser` takes alone: their tests need Chromium, whose driver keeps an event loop running in
their process, where no other test could run one."""

GATED = (
    "tests/chaos/test_chaos_smoke.py",
    "tests/clients/installed",
    "tests/domain/mail/corpus/test_mutants.py",
    "tests/fleet/drafts",
    "tests/fleet/releases",
    "tests/fleet/test_cells.py",
    "tests/fleet/test_kills.py",
    "tests/fleet/test_own_packages.py",
    "tests/fleet/waiting",
    "tests/gateway/console/test_scopes.py",
    "tests/operations/orgs/moves",
    "tests/recipes/test_quickstart.py",
    "tests/recipes/test_restore.py",
    "tests/runbooks/test_broken_fleets.py",
    "tests/runbooks/test_broken_states.py",
    "tests/storage/jobs/plans",
)
"""Files and folders that `make test-gate` takes of the long tests: what a deploy, a restore, a move and a kill do to
jobs, what the console shows to whom, whether clients and packages work where they are installed, what broken mail
costs, and how statements find their rows."""

OF_THE_HOUSE = (
    "tests/house",
    "tests/test_glossary.py",
    "tests/tools/test_own_forms.py",
    "tests/tools/test_patterns.py",
    "tests/engine/celery_patches/test_private_names.py",
    "tests/engine/test_one_way_to_run.py",
    "tests/engine/worker/test_clocks.py",
    "tests/observability/test_logs.py",
    "tests/providers/test_meters.py",
)
"""Files and folders whose tests parse every module of the repository: side by side, one worker does so for all."""

LONG_FIRST = (*LONG, *OF_THE_HOUSE, "tests/commands", "tests/sandbox")
"""Files and folders, the longest tests first; all others follow. A long test that began last would be waited for."""

ONE_BY_ONE = ("tests/fleet", "tests/sweep", "tests/model", "tests/runbooks")
"""Folders in which each test is a unit of its own."""
TOGETHER = ("tests/fleet/rabbitmq",)
"""Folders that are one unit: their tests share a server."""


def stands_in(place: str, folders: Iterable[str]) -> bool:
    """Whether a file is one of these or stands below one of them."""
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)


def leaves_out(length: str | None, place: str) -> bool:
    """Whether a run of the `short`, the `long` or the `gate`'s tests leaves a file out; without a length, none does."""
    if length == "gate":
        return not stands_in(place, GATED)
    return length is not None and (stands_in(place, BROWSER) or stands_in(place, LONG) != (length == "long"))


@cache  # thousands of tests stand in a few hundred files
def rank(place: str) -> int:
    """Where in the order the tests of a file stand."""
    return next((at for at, first in enumerate(LONG_FIRST) if stands_in(place, [first])), len(LONG_FIRST))


def unit_of(test: str) -> str:
    """The unit that a test belongs to, by its id."""
    place = test.partition("::")[0]
    for folder in TOGETHER:
        if stands_in(place, [folder]):
            return folder
    return test if stands_in(place, ONE_BY_ONE) else place


class LongFirst(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Hands out the units in the order of the tests."""

    def __init__(self, config: Any, log: Any) -> None:  # noqa: ANN401  # xdist's own
        super().__init__(config, log)
        config.option.loadscopereorder = False  # xdist would take the units with the most tests first

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

"""What few processes need is loaded by those; docs: 2026-11-22-vendors-on-demand.md."""

import subprocess
import sys

import pytest

from observability.on_demand import on_demand
from tests.house import ROOT

HEAVY = (
    *("alembic", "anthropic", "cryptography.hazmat", "googleapiclient"),
    *("highspy", "numpy", "typst", "icalendar", "recurring_ical_events"),  # of the extras `planning` and `exports`
)


def test_a_worker_loads_no_package_that_only_some_jobs_need() -> None:
    look = f"import sys, celery.bin.celery, celery.apps.worker, tasks; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # our own code
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "storage.secrets.sealing:Sealer",
        "providers.highs.solver:HighsSolver",
        "providers.typst.printer:TypstPrinter",
        "providers.icalendar.availability:read_calendar",
    ],
)
def test_what_is_asked_for_is_loaded(name: str) -> None:
    assert on_demand(name).__name__ == name.partition(":")[2]

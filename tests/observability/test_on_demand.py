"""What few processes need is loaded by those; docs: 2026-11-22-vendors-on-demand.md."""

import re
import subprocess
import sys
import tomllib

import pytest

from domain.jobs.failures import Permanent
from observability.on_demand import EXTRAS, missing_packages, on_demand
from tests.house.reading import ROOT

HEAVY = (
    *("alembic", "anthropic", "cryptography.hazmat", "googleapiclient"),
    *("highspy", "numpy", "typst"),  # of the extras `planning` and `exports`
)


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("celery.bin.celery, celery.apps.worker, tasks", HEAVY),
        ("providers.anthropic.language_model", ("anthropic",)),  # which a refusal alone needs
    ],
)
def test_a_worker_loads_no_package_that_only_some_jobs_need(modules: str, heavy: tuple[str, ...]) -> None:
    look = f"import sys, {modules}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # our own code
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "storage.orgs.secrets.sealing:Sealer",
        "providers.highs.solver:HighsSolver",
        "providers.typst.printer:TypstPrinter",
    ],
)
def test_what_is_asked_for_is_loaded(name: str) -> None:
    assert on_demand(name).__name__ == name.partition(":")[2]


def test_the_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in EXTRAS:
        names = {re.split(r"[^\w-]", one)[0].replace("-", "_") for one in declared[extra.name]}
        assert names == set(extra.packages)


@pytest.mark.parametrize(
    ("package", "extra", "needs_it"),
    [
        ("highspy", "planning", "providers.highs.solver:HighsSolver"),
        ("typst", "exports", "providers.typst.printer:TypstPrinter"),
    ],
)
def test_a_job_that_needs_an_extra_that_is_missing_fails_for_good_and_names_it(
    package: str, extra: str, needs_it: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, needs_it.partition(":")[0], raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Permanent) as refusal:
        on_demand(needs_it)
    assert refusal.value.code == "extra.missing"
    assert f"postroom[{extra}]" in refusal.value.reason
    assert [one.name for one in EXTRAS if missing_packages(one)] == [extra]


def test_a_module_that_is_missing_otherwise_is_a_defect() -> None:
    with pytest.raises(ModuleNotFoundError):
        on_demand("providers.nobody.module:Thing")

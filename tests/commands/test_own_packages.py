"""Packages with job types of their own: what names them, and that a wrong one is named with the reason."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.servers.python_processes import run_python

NAME = "orders.confirm"
HEAD = """
from datetime import timedelta
from domain.jobs.job import Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext
"""
GOOD = f"""{HEAD}
class Confirm(Payload, job_type="orders.confirm"):
    order_id: int

@job(queue=Queue.DEFAULT)
def confirm(ctx: JobContext, payload: Confirm) -> Outcome: ...
"""
PERIODIC = GOOD.replace("(queue=Queue.DEFAULT)", "(queue=Queue.DEFAULT, every=timedelta(hours=1))")
REFUSED = "which POSTROOM_JOBS names, cannot be imported"
TAKEN = "the name orders.confirm belongs to the job type orders.confirm already"
MISTAKES: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "a package that is not installed": (
        "shop.orders",
        {},
        f"Error: shop.orders, {REFUSED}: ModuleNotFoundError: No module named 'shop'",
    ),
    "a name that is none": (
        "shop orders",
        {},
        "cannot be imported: ModuleNotFoundError: No module named 'shop orders'",
    ),
    "a relative name": (".orders", {}, f"Error: .orders, {REFUSED}: TypeError"),
    "a missing module inside": (
        "orders",
        {"orders.py": f"{GOOD}\nimport nosuchmodule\n"},
        "ModuleNotFoundError: No module named 'nosuchmodule' (FOLDER/orders.py, line 15)",
    ),
    "a mistake in a package's module": (
        "shop",
        {"shop/__init__.py": "", "shop/orders.py": f"{GOOD}\nnobody\n"},
        f"Error: shop, {REFUSED}: NameError: name 'nobody' is not defined (FOLDER/shop/orders.py, line 15)",
    ),
    "no Python": ("orders", {"orders.py": "class"}, "SyntaxError: invalid syntax (orders.py, line 1)"),
    "no job type": ("orders", {"orders.py": HEAD}, "orders, which POSTROOM_JOBS names, has no payload class"),
    "a name of Postroom's": (
        "orders",
        {"orders.py": GOOD.replace(NAME, "gmail.sync")},
        "gmail.sync: the name gmail.sync belongs to the job type gmail.sync already, of domain.payloads.gmail",
    ),
    "an alias of Postroom's": (
        "orders",
        {"orders.py": GOOD.replace(f'"{NAME}"', f'"{NAME}", aliases=("ENGINE_RUN",)')},
        "the name ENGINE_RUN belongs to the job type workflows.run already, of domain.payloads.workflows",
    ),
    "a family of Postroom's": (
        "gmail_more",
        {"gmail_more.py": f'{HEAD}\nclass A(Payload, job_type="gmail.more"): ...\n'},
        "Error: A of gmail_more: the family gmail is Postroom's; put the job type into a family of yours",
    ),
    "an alias in a family of Postroom's": (
        "orders",
        {"orders.py": GOOD.replace(f'"{NAME}"', f'"{NAME}", aliases=("maintenance.more",)')},
        "Error: Confirm of orders: the family maintenance is Postroom's",
    ),
    "a name of another package's": (
        "shop.orders, store.orders",
        {"shop/orders.py": GOOD, "store/orders.py": GOOD},
        f"Error: store.orders, {REFUSED}: ValueError: orders.confirm: {TAKEN}, of shop.orders",
    ),
    "an unknown queue": (
        "orders",
        {"orders.py": GOOD.replace("Queue.DEFAULT", '"express"')},
        "ValueError: orders.confirm: 'express' is no queue; there are critical, default,",
    ),
    "a deadline that is over at once": (
        "orders",
        {"orders.py": GOOD.replace("DEFAULT)", "DEFAULT, deadline=timedelta(0))")},
        "ValueError: orders.confirm: deadline is 0:00:00; it may be 0:00:00.000001 to 1 day, 0:00:00",
    ),
    "a periodic job that needs a payload": (
        "orders",
        {"orders.py": PERIODIC},
        "ValueError: orders.confirm: every makes jobs without a payload, and the payload needs the field order_id",
    ),
    "a payload class without a handler": (
        "orders",
        {"orders.py": f'{GOOD}\nclass Forgotten(Payload, job_type="orders.forget"): ...\n'},
        "Forgotten has no handler: no module orders of orders has a forget with @job",
    ),
}
"""By the mistake: the setting, the files of the reader's folder, and what the command line says."""


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def known(folder: Path, setting: str = "") -> tuple[int, str]:
    """What the command line says of a job type that nobody has: the names of all that there are."""
    words = ("celery", "-A", "tasks", "jobs", "enqueue", "nobody.knows", "--org", "one")
    return run_python(*words, folder=folder, environment={"POSTROOM_JOBS": setting})


def named_by_an_entry_point(folder: Path) -> None:
    """What pip writes when it installs a package."""
    write(
        folder,
        {
            "shop-1.0.dist-info/METADATA": "Metadata-Version: 2.4\nName: shop\nVersion: 1.0\n",
            "shop-1.0.dist-info/entry_points.txt": "[postroom.jobs]\nshop = shop\n",
        },
    )


def test_a_module_that_the_setting_names_has_its_job_types(tmp_path: Path) -> None:
    write(tmp_path, {"orders.py": GOOD, "shop/stock.py": GOOD.replace(NAME, "stock.confirm")})
    _, without = known(tmp_path)
    assert f" {NAME}," not in without
    _, said = known(tmp_path, "orders, shop.stock")
    assert f" {NAME}," in said
    assert " stock.confirm," in said


def test_of_a_package_each_module_is_taken(tmp_path: Path) -> None:
    write(
        tmp_path, {"shop/__init__.py": "", "shop/orders.py": GOOD, "shop/stock.py": GOOD.replace(NAME, "stock.confirm")}
    )
    _, said = known(tmp_path, "shop")
    assert f" {NAME}," in said
    assert " stock.confirm," in said


def test_an_installed_package_names_its_modules_itself(tmp_path: Path) -> None:
    named_by_an_entry_point(tmp_path)
    write(tmp_path, {"shop/__init__.py": "", "shop/orders.py": GOOD})
    _, said = known(tmp_path)
    assert f" {NAME}," in said


def test_an_entry_point_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    named_by_an_entry_point(tmp_path)
    status, said = known(tmp_path)
    assert status != 0
    assert "Error: shop, which an entry point of shop names, cannot be imported: ModuleNotFoundError" in said


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_wrong_with_a_package_is_said_and_nothing_begins(tmp_path: Path, mistake: str) -> None:
    setting, files, reason = MISTAKES[mistake]
    write(tmp_path, files)
    status, said = known(tmp_path, setting)
    assert status != 0
    assert reason.replace("FOLDER", str(tmp_path)) in said


def test_the_gateway_does_not_begin_either(tmp_path: Path) -> None:
    status, said = run_python("gateway", "--port", "0", folder=tmp_path, environment={"POSTROOM_JOBS": "shop"})
    assert status != 0
    assert said.strip().splitlines()[-1].startswith("Error: shop, which POSTROOM_JOBS names, cannot be imported")

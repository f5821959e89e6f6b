"""The client's wheel, built without an index and installed into empty environments, beside what services have."""

import json
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from domain.orgs.access.api_keys import Role
from storage.postgres.database import Database
from tests.fleet.fleet import Fleet
from tests.gateway.api.conftest import give_key
from tests.house.reading import ROOT

PACKAGE = ROOT / "clients" / "python"
HERE = Path(__file__).parent
OLDEST = "pypy3"
"""Debian's PyPy is of Python 3.9."""


def run(*words: str | Path, folder: Path, given: str = "") -> str:
    """Run a program; what it prints. Fails with all that it wrote where it fails."""
    done = subprocess.run(  # noqa: S603 - our own arguments
        [str(word) for word in words], cwd=folder, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as its README says to build it."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(PACKAGE, folder / "source")
    build = ("-m", "pip", "wheel", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", folder)
    run(sys.executable, *build, folder / "source", folder=folder)
    (made,) = folder.glob("*.whl")
    return made


def environment(folder: Path, python: str, *packages: str) -> Path:
    """The interpreter of a new environment with these packages alone."""
    run(python, "-m", "venv", folder, folder=folder.parent)
    interpreter = folder / "bin" / "python"
    run(interpreter, "-m", "pip", "install", "--quiet", *packages, folder=folder)
    run(interpreter, "-m", "pip", "check", folder=folder)
    return interpreter


def test_the_wheel_holds_the_package_and_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if ".dist-info/" not in name}
        (about,) = (opened.read(name).decode() for name in opened.namelist() if name.endswith("/METADATA"))
        assert any(name.endswith("/LICENSE") for name in opened.namelist())
    assert names == {
        str(path.relative_to(PACKAGE))
        for path in (PACKAGE / "postroom_client").iterdir()
        if path.suffix == ".py" or path.name == "py.typed"
    }
    metadata = Parser().parsestr(about)
    assert metadata["Requires-Python"] == ">=3.9"
    needed = [one for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one]
    assert [one.partition(">")[0] for one in needed] == ["httpx"]


def test_a_service_with_django_and_fastapi_hands_over_work(
    wheel: Path, tmp_path: Path, fleet: Fleet, gateway: str, store: Database, service_url: str
) -> None:
    fleet.worker().ready()
    python = environment(tmp_path / "service", sys.executable, f"{wheel}[sql]", "psycopg[binary]", "django", "fastapi")
    parts = conninfo_to_dict(service_url)
    database = {name.upper(): parts[name] for name in ("user", "password", "host", "port")} | {"NAME": parts["dbname"]}
    key = give_key(store, fleet.org, Role.WRITER)[0].text
    told: dict[str, Any] = {"database": database, "org": str(fleet.org), "url": gateway, "key": key}
    found = json.loads(run(python, "-I", HERE / "service.py", folder=tmp_path, given=json.dumps(told)))
    assert found["results"] == [{"word": "django"}, {"word": "fastapi"}]
    kept = fleet.ask("select id::text, idempotency_key, state from jobs order by idempotency_key")
    assert kept == [(job_id, f"order-{number}", "succeeded") for number, job_id in enumerate(found["job_ids"], start=1)]
    assert fleet.ask("select number from orders") == [("order-1",)]
    fleet.check()


BY_HTTP = """
import sys
from postroom_client import Client, Invalid, sql
assert sys.version_info[:2] == (3, 9), sys.version
with Client(*sys.argv[1:]) as postroom:
    made = postroom.enqueue("probe_jobs.ending", {"word": "old"}, key="k")
    job = postroom.wait(made.job_id, timeout_s=60)
    print(job.result()["word"], job.created_at.utcoffset(), job.job_id == made.job_id)
    try:
        postroom.enqueue("probe_jobs.ending", {"colour": "red"}, key="k")
    except Invalid as refused:
        print(refused.field)
"""


@pytest.mark.skipif(shutil.which(OLDEST) is None, reason=f"no {OLDEST} here: apt-get install {OLDEST} {OLDEST}-venv")
def test_the_oldest_python_hands_over_work(
    wheel: Path, tmp_path: Path, fleet: Fleet, gateway: str, store: Database
) -> None:
    fleet.worker().ready()
    python = environment(tmp_path / "oldest", OLDEST, str(wheel))
    key = give_key(store, fleet.org, Role.WRITER)[0].text
    printed = run(python, "-c", BY_HTTP, gateway, key, folder=tmp_path)
    assert printed.splitlines() == ["old 0:00:00 True", "payload.colour"]
    fleet.check()

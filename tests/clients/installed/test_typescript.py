"""The TypeScript client, generated from the running gateway's description: its README's example runs, types and all."""

import json
import shutil
import subprocess
from os import environ
from pathlib import Path

import pytest
from postroom_client import Client

from gateway.api.openapi import description
from gateway.app import create_app
from sandbox.emulator.fault_order import FaultOrder
from tests.clients.lossy_gateway import LossyGateway
from tests.doubles.factories import make_settings
from tests.fleet.fleet import Fleet
from tests.house.reading import ROOT
from tests.written_pages import Page

PACKAGE = ROOT / "clients" / "typescript"
README = Page(PACKAGE / "README.md")

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here: it comes with Node.js")


def node(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Node.js, or a program that is installed with it, in the folder."""
    return subprocess.run(  # noqa: S603 - our own arguments
        words, cwd=folder, env={**environ, **variables}, capture_output=True, text=True, check=False
    )


def done(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, built as its README says."""
    folder = tmp_path_factory.mktemp("typescript") / "package"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "openapi.json").write_text(json.dumps(description(create_app(make_settings()))))
    done(node(folder, "npm", "ci", "--no-audit", "--no-fund"))
    done(node(folder, "npm", "run", "build"))
    return folder


def compiled(package: Path, **programs: str) -> subprocess.CompletedProcess[str]:
    """Compile programs of a project beside the package that has installed it, as strictly as the package itself."""
    project = package.parent / "project"
    (project / "node_modules").mkdir(parents=True, exist_ok=True)
    (project / "package.json").write_text('{"type": "module"}')
    (project / "node_modules" / "postroom-client").unlink(missing_ok=True)
    (project / "node_modules" / "postroom-client").symlink_to(package)
    files = [project / f"{name}.ts" for name in programs]
    for file, code in zip(files, programs.values(), strict=True):
        file.write_text(code)
    strict = ("--strict", "--module", "NodeNext", "--target", "ES2022", "--lib", "ES2022,DOM", "--types", "node")
    places = ("--rootDir", str(project), "--outDir", str(project / "out"), "--typeRoots", "node_modules/@types")
    return node(package, "npx", "--no-install", "tsc", *strict, *places, *map(str, files))


def played(package: Path, name: str, url: str, api_key: str) -> list[str]:
    """The lines that a compiled program prints."""
    program = str(package.parent / "project" / "out" / f"{name}.js")
    return done(node(package, "node", program, POSTROOM_URL=url, POSTROOM_KEY=api_key)).splitlines()


def test_the_example_of_the_page_runs(
    built: Path, lossy: LossyGateway, api_key: str, client: Client, fleet: Fleet
) -> None:
    """Its answer is lost once, and it says the same again."""
    fleet.worker().ready()
    (code,) = README.code("ts")
    done(compiled(built, example=code))
    lossy.faults.order(FaultOrder(method="POST", drop="after"))
    printed = played(built, "example", lossy.url, api_key)
    ((job_id, state, key),) = fleet.ask("select id, state, idempotency_key from jobs where job_type = 'agents.invoke'")
    assert (printed[-2:], key) == ([state, "null"], "agent-4711")
    assert client.job(job_id).ended
    assert [call.method for call in lossy.reached].count("POST") == 2


REFUSED = """
import { createPostroom } from "postroom-client";
const postroom = createPostroom(process.env.POSTROOM_URL!, process.env.POSTROOM_KEY!);
const wrong = { profile: "assistant", prompt: "x", account_id: "no id" };
const { error, response } = await postroom.POST("/v1/jobs", { body: { job_type: "agents.invoke", payload: wrong } });
console.log(response.status, error?.field, error?.reason);
"""


def test_a_refusal_names_field_and_reason(built: Path, gateway: str, api_key: str) -> None:
    done(compiled(built, refused=REFUSED))
    assert played(built, "refused", gateway, api_key) == ["422 payload.account_id Input should be a valid UUID"]


MISTAKES = (
    ('"/v1/jobs"', '"/v1/jbos"'),
    ('"agents.invoke"', '"agents.invke"'),
    ('profile: "assistant"', "profile: 7"),
    ("data.job_id", "data.jobid"),
)


def test_a_mistake_does_not_compile(built: Path) -> None:
    (code,) = README.code("ts")
    assert all(right in code for right, _ in MISTAKES)
    wrong = {f"mistake_{number}": code.replace(*one) for number, one in enumerate(MISTAKES)}
    said = compiled(built, right=code, **wrong).stdout
    assert {name for name in ("right", *wrong) if f"{name}.ts(" in said} == set(wrong)


def test_the_lock_names_no_host() -> None:
    lock = (PACKAGE / "package-lock.json").read_text()
    assert '"integrity"' in lock
    assert '"resolved"' not in lock

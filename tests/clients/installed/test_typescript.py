"""The TypeScript client, generated from the running gateway's description: its README's example runs, types and all."""

import json
import shutil
import socket
import subprocess
from collections import Counter
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


SILENT = """
import { createPostroom, waitForJob } from "postroom-client";
const { POSTROOM_URL: url, POSTROOM_KEY: key } = process.env;
const late = (fault: Error) => console.log(fault.name, fault.message);
await waitForJob(createPostroom(url!, key!), "4711", { timeoutMs: 500 }).catch(late);
const quick = createPostroom(url!, key!, { retries: { tries: 2, tryMs: 200, firstWaitMs: 1 } });
await quick.GET("/v1/jobs/{job_id}", { params: { path: { job_id: "4711" } } }).catch(late);
await waitForJob(quick, "4711", { timeoutMs: 0 }).catch(late);
"""


def test_a_gateway_that_is_silent_is_waited_for_no_longer_than_was_said(built: Path) -> None:
    """The system takes the connections, and nobody answers."""
    done(compiled(built, silent=SILENT))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        printed = played(built, "silent", f"http://127.0.0.1:{silent.getsockname()[1]}", "sk-postroom-x")
    assert printed == [
        "Error there was no answer about job 4711 in time",
        *["TimeoutError no answer within 200 ms"] * 2,
    ]


EMPTY = """
import { createPostroom, waitForJob } from "postroom-client";
const postroom = createPostroom(process.env.POSTROOM_URL!, process.env.POSTROOM_KEY!, { retries: { tries: 1 } });
const path = { job_id: "4711" };
for (const _ of [1, 2, 3]) {
  const { data, error, response } = await postroom.GET("/v1/jobs/{job_id}", { params: { path } });
  console.log(response.status, response.headers.get("Retry-After"), data, error?.code, error?.status);
}
await waitForJob(postroom, "4711").catch((refused) => console.log(refused.status, refused.code));
await waitForJob(postroom, "4711").catch((fault) => console.log(fault.name, fault.message));
"""


def test_an_answer_that_is_not_postrooms_is_a_problem_too(built: Path, lossy: LossyGateway, api_key: str) -> None:
    done(compiled(built, empty=EMPTY))
    lossy.faults.order(FaultOrder(status=401, text=""))
    lossy.faults.order(FaultOrder(status=403, text="<h1>Sign in</h1>"))
    lossy.faults.order(FaultOrder(status=502, headers={"Retry-After": "7"}))
    lossy.faults.order(FaultOrder(status=401, text=""))
    lossy.faults.order(FaultOrder(status=200, body={}))
    assert played(built, "empty", lossy.url, api_key) == [
        "401 null undefined not_postroom 401",
        "403 null undefined not_postroom 403",
        "502 7 undefined not_postroom 502",
        "401 not_postroom",
        "Error the answer is none of Postroom's: is it the gateway's address?",
    ]


REPEATED = """
import { createPostroom } from "postroom-client";
const { POSTROOM_URL: url, POSTROOM_KEY: key } = process.env;
const postroom = createPostroom(url!, key!, { retries: { tries: 2, firstWaitMs: 1 } });
const lost = () => console.log("lost");
const job = { path: { job_id: "00000000-0000-0000-0000-000000000001" } };
const work = { job_type: "agents.invoke", payload: { profile: "assistant", prompt: "x" } } as const;
const header = { "idempotency-key": "k" };
await postroom.GET("/v1/jobs").catch(lost);
await postroom.PUT("/v1/senders", { body: {} as never }).catch(lost);
await postroom.DELETE("/v1/schedules/{name}", { params: { path: { name: "nightly" } } }).catch(lost);
await postroom.POST("/v1/jobs/{job_id}/cancel", { params: job, body: {} }).catch(lost);
await postroom.POST("/v1/jobs/{job_id}/retry", { params: job, body: {} as never }).catch(lost);
await postroom.POST("/v1/jobs", { params: { header }, body: work }).catch(lost);
await postroom.POST("/v1/jobs", { body: work }).catch(lost);
"""


@pytest.mark.parametrize("order", [FaultOrder(drop="after", times=None), FaultOrder(status=520, times=None)])
def test_the_same_requests_are_sent_again_as_by_the_python_client(
    built: Path, lossy: LossyGateway, api_key: str, order: FaultOrder
) -> None:
    done(compiled(built, repeated=REPEATED))
    lossy.faults.order(order)
    played(built, "repeated", lossy.url, api_key)
    sent = [(call.method, call.path.rpartition("/")[2]) for call in lossy.faults.journal()]
    assert Counter(sent) == {
        ("GET", "jobs"): 2,
        ("PUT", "senders"): 2,
        ("DELETE", "nightly"): 2,
        ("POST", "cancel"): 2,
        ("POST", "retry"): 1,
        ("POST", "jobs"): 3,
    }


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

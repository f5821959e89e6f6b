"""A runbook for each alert, of one shape; its commands are understood, its queries run, and its pages are there."""

import re
import shlex
import subprocess
from collections.abc import Iterator

import click
import pytest
from celery.bin.base import CLIContext
from celery.bin.beat import beat
from celery.bin.worker import worker
from psycopg import Connection

from commands.command_line.every_command import COMMANDS
from domain.jobs.monitoring.runbooks import ALERTS, RUNBOOKS, alert_of, runbook_of
from engine.app import app
from engine.runtime import Runtime
from gateway.console.frame import systems
from gateway.console.pages import pages
from operations.health import LEDGER_CHECKS
from settings import Settings
from tests.commands.calling import answer, call
from tests.deployment import DEPLOY, read_yaml
from tests.house.reading import ROOT
from tests.written_pages import DOCS, Page

FOLDER = DOCS / "runbooks"
RULES = [
    rule
    for group in read_yaml((DEPLOY / "prometheus" / "alerts.yaml").read_text())[0]["groups"]
    for rule in group["rules"]
]
PAGES = {path.stem: Page(path) for path in sorted(FOLDER.glob("*.md"))}
SHAPE = (
    "What it means",
    "Is it real",
    "First five minutes",
    "Mend",
    "How to know it is over",
    "Why it can happen",
)
MOST_WORDS = 480
"""Whoever reads it was asleep a minute ago."""
CELERYS_OWN = {"worker": worker, "beat": beat}
CELERY = CLIContext(app=app, no_color=True, workdir=None)
GIVEN = {
    "EFFECT_KEY": "an-effect",
    "FINGERPRINT": "a1b2",
    "JOB_ID": "0197d3c0-0000-7000-8000-000000000001",
    "LETTER_ID": "0197d3c0-0000-7000-8000-000000000002",
    "ORG_ID": "0197d3c0-0000-7000-8000-000000000003",
    "REFUSAL_ID": "7",
}
"""What stands for the words that an operator fills in."""
BESIDE = {"curl", "kill"}
"""What a page may run beside our own commands; a pipe leads to grep."""
SED = re.compile(r"sed .*alerts\.yaml")


def of_page(page: Page) -> Iterator[str]:
    """Each command of a page: a line of a block, or what stands in back quotes."""
    yield from (line for block in page.code("sh") for line in block.splitlines())
    yield from (span for span in page.spans() if span.startswith("celery "))


def not_understood(line: str) -> str | None:
    """Why a command line of ours would be refused before anything is done; None when it would not be."""
    name, *words = [GIVEN.get(word, word) for word in shlex.split(line)[3:]]
    command = {**CELERYS_OWN, **COMMANDS}.get(name)
    return f"there is no command {name}" if command is None else refusal_of(command, name, words)


def refusal_of(command: click.Command, name: str, words: list[str]) -> str | None:
    """What Click says of these words; None when it takes them."""
    context = click.Context(command, info_name=name, obj=CELERY)
    try:
        if isinstance(command, click.Group):
            _, below, rest = command.resolve_command(context, words)
            assert below is not None
            return refusal_of(below, name, rest)
        command.parse_args(context, words)
    except click.UsageError as refused:
        return refused.format_message()
    return None


def test_each_alert_has_a_page_and_each_page_an_alert() -> None:
    assert {rule["alert"] for rule in RULES} == set(ALERTS) == set(PAGES)
    assert set(RUNBOOKS.values()) <= set(ALERTS)


def test_each_alert_names_its_page() -> None:
    for rule in RULES:
        address = rule["annotations"]["runbook_url"]
        assert address == runbook_of(rule["alert"], Settings().runbook_url)
        assert ROOT / address == PAGES[rule["alert"]].path


@pytest.mark.parametrize("alert", PAGES)
def test_a_page_has_the_shape_of_all_and_is_short(alert: str) -> None:
    page = PAGES[alert]
    assert page.text.startswith(f"# {alert}\n")
    assert tuple(re.findall(r"^## (.+)$", page.text, re.MULTILINE)) == SHAPE
    assert len(page.text.split()) <= MOST_WORDS
    real = page.text.partition("## Is it real\n")[2].partition("\n## ")[0]
    assert "celery -A tasks" in real or "curl" in real
    assert "/console/" in real


@pytest.mark.parametrize("alert", PAGES)
def test_the_commands_of_a_page_are_understood(alert: str) -> None:
    lines = list(of_page(PAGES[alert]))
    ours = [line for line in lines if line.startswith("celery -A tasks ")]
    assert ours
    assert {line: why for line in ours if (why := not_understood(line))} == {}
    assert {line.split()[0] for line in lines if line not in ours} <= BESIDE


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("celery -A tasks job list", "there is no command job"),
        ("celery -A tasks jobs lost", "No such command 'lost'"),
        ("celery -A tasks jobs list --stat dead", "No such option '--stat'"),
        ("celery -A tasks jobs list --state gone", "'gone' is not one of"),
        ("celery -A tasks deadletters discard LETTER_ID", "Missing option '--reason'"),
        ("celery -A tasks effects rule --happened", "Missing"),
        ("celery -A tasks worker -Q critical --conc 2", "No such option '--conc'"),
    ],
)
def test_a_command_that_would_be_refused_is_found(line: str, why: str) -> None:
    assert why in (not_understood(line) or "")


@pytest.mark.parametrize("alert", [name for name, page in PAGES.items() if page.code("sql")])
def test_the_queries_of_a_page_run(alert: str, database: Connection) -> None:
    for query in PAGES[alert].code("sql"):
        assert database.execute(query.encode()).description


@pytest.mark.parametrize("alert", PAGES)
def test_the_pages_of_the_console_that_a_page_names_are_there(alert: str) -> None:
    areas = {
        path
        for _, named in systems()
        for area, operations in named
        for path in (area, *(f"{area}/{one.command}" for one in operations))
    }
    there = {f"/console/{path}" for path in areas | {one.path for one in pages()}}
    named = {span for span in PAGES[alert].spans() if span.startswith("/console")}
    assert named - there == set()


def test_doctor_names_the_page_of_what_is_wrong(process: Runtime) -> None:
    assert process
    rows = {row["name"]: row for row in answer(COMMANDS["doctor"], status=1)}
    wrong = {name: row["runbook"] for name, row in rows.items() if not row["ok"]}
    assert wrong["beat"] == "docs/runbooks/PostroomBeatSilent.md"
    assert wrong == {name: runbook_of(alert_of(name), Settings().runbook_url) for name in wrong}
    assert {row["runbook"] for row in rows.values() if row["ok"]} == {""}
    assert "PostroomBeatSilent.md" in call(COMMANDS["doctor"]).output


def test_a_check_that_leads_to_a_page_is_one_of_doctor_or_of_health(process: Runtime) -> None:
    assert process
    names = {row["name"] for row in answer(COMMANDS["doctor"], status=1)} | {"counting", "promises", "workers"}
    assert set(RUNBOOKS) <= names | {name for name, _ in LEDGER_CHECKS}


def test_the_addresses_of_the_pages_can_be_changed_as_the_how_to_says() -> None:
    how_to = Page(DOCS / "howto" / "watch-the-fleet.md")
    (line,) = [line for block in how_to.code("sh") for line in block.splitlines() if SED.match(line)]
    done = subprocess.run(shlex.split(line), cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603  # a line of our own page
    changed = read_yaml(done.stdout)[0]["groups"][0]["rules"]
    assert {rule["annotations"]["runbook_url"] for rule in changed} == {
        f"https://docs.example.org/runbooks/{alert}/" for alert in ALERTS
    }

"""What commands say of themselves, of a trouble, and in tables."""

import json
from collections.abc import Iterator
from uuid import UUID, uuid4

import click
import pytest
from rich.console import Console

from commands import answers
from commands.answers import diagnosis_line
from commands.command_line.every_command import COMMANDS
from domain.jobs.failures import Gone
from storage.postgres.execution import DatabaseUnavailable
from tests.commands.calling import call


def every_command() -> Iterator[tuple[str, click.Command]]:
    for name, group in COMMANDS.items():
        yield from ((f"{name} {one}", found) for one, found in getattr(group, "commands", {"": group}).items())


@pytest.mark.parametrize(
    ("name", "command"), list(every_command()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_command_and_its_options_are_explained(name: str, command: click.Command) -> None:
    assert call(command, "--help").exit_code == 0
    assert command.help, name
    silent = [one.opts for one in command.params if isinstance(one, click.Option) and not one.help]
    assert silent == []


def test_a_diagnosis_of_the_installation_comes_with_its_remedy() -> None:
    told = diagnosis_line(DatabaseUnavailable("away"))
    assert told.startswith("PostgreSQL: ")
    assert "; " in told
    assert diagnosis_line(Gone("there is no job 7")) == "there is no job 7"


def test_no_id_and_no_word_is_cut_in_a_narrow_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"job_id": uuid4(), "job_type": "maintenance.check_watches", "state": "succeeded", "reason": "x" * 90}]
    answers.show_rows(rows, ["job_id", "job_type", "state", "reason"], as_json=False, screen=Console(width=80))
    shown = capsys.readouterr().out
    assert str(UUID(str(rows[0]["job_id"]))) in shown
    assert "…" not in shown


def test_a_document_is_shown_by_what_is_set_and_written_whole(capsys: pytest.CaptureFixture[str]) -> None:
    is_set = {"state": "queued", "attempt": 0, "is_last": False}
    facts = is_set | {"parent": None, "reason": "", "left_out": [], "data": {}}
    answers.show_document("job", facts, as_json=False)
    words = capsys.readouterr().out
    assert {name for name in facts if name in words} == set(is_set)
    answers.show_document("job", facts, as_json=True)
    assert json.loads(capsys.readouterr().out) == facts

"""Runs a sub-command in the test's process, as `celery -A tasks` would."""

import json
from typing import Any

import click
from click.testing import CliRunner, Result


def call(command: click.Command, *arguments: object, typed: str | None = None) -> Result:
    """Run a command with the given words; `typed` is its standard input."""
    return CliRunner().invoke(command, [str(argument) for argument in arguments], input=typed)


def answer(command: click.Command, *arguments: object, typed: str | None = None, status: int = 0) -> Any:  # noqa: ANN401 - JSON may be anything
    """What a command answers with `--json`; its exit status must be as said."""
    result = call(command, *arguments, "--json", typed=typed)
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def refusal(command: click.Command, *arguments: object, typed: str | None = None) -> str:
    """The line that a command fails with."""
    result = call(command, *arguments, typed=typed)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    return result.stderr

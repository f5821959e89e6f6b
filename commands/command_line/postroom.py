"""The program `postroom`: `celery -A tasks`, with completion in bash, zsh and fish."""

from collections.abc import Mapping
from typing import Any

import click
from celery.bin.celery import celery
from celery.utils.imports import symbol_by_name

from commands.command_line.app_commands import AppCommands

OUR_APP = "tasks"
SUB_COMMANDS = "commands.command_line.every_command:COMMANDS"
"""What the app says, too (`engine.app`), which need not be loaded for a list of commands."""


class OurCommands(AppCommands):
    """Celery's commands and ours, of one app."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line that does not name the app."""
        rest: list[str] = super().parse_args(ctx, ["-A", OUR_APP, *args])
        return rest

    def commands_of_app(self, ctx: click.Context) -> Mapping[str, click.Command]:  # noqa: ARG002 - the app is known
        """Our commands."""
        found: Mapping[str, click.Command] = symbol_by_name(SUB_COMMANDS)
        return found


def begin(**given: Any) -> None:  # noqa: ANN401 - the options of Celery
    """Do what Celery does before a command, for the app that is installed and not for a module of this folder."""
    symbol_by_name(f"{OUR_APP}:celery")
    celery.callback(**given)


def main() -> None:
    """Run the command line of this process."""
    group = OurCommands(
        "postroom",
        dict(celery.commands),
        params=celery.params,
        callback=begin,
        invoke_without_command=True,
        help="Postroom's commands and Celery's: postroom is celery -A tasks.",
    )
    group(auto_envvar_prefix="CELERY")

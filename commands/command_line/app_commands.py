"""Celery's group of commands, with those that an app of ours names.

Celery looks a command up before it loads the app of `-A`, so that it knows only its own commands and those of plugins,
which it shows for every app. Here the app is loaded first where a command is not Celery's own.
"""

from collections.abc import Mapping, MutableMapping
from typing import Any

import click
from celery.app.utils import find_app
from celery.utils.imports import symbol_by_name
from click_didyoumean import DYMGroup

APP = "app"
"""The parameter of `-A`."""


class AppCommands(DYMGroup):  # type: ignore[misc] # it ships no types
    """Celery's commands, and those of the app: a mapping that its `sub_commands` names as `module:name`."""

    commands: MutableMapping[str, click.Command]
    knows_app = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, for `--help` and completion; of an app that cannot be loaded, Celery's alone."""
        self.learn(self.commands_of_app(ctx))
        names: list[str] = super().list_commands(ctx)
        return names

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; one that Celery does not know is looked up when the app is there."""
        known: click.Command | None = super().get_command(ctx, cmd_name)
        return known if known or self.knows_app else LaterCommand(cmd_name)

    def learn(self, commands: Mapping[str, click.Command]) -> None:
        """Add an app's commands; Celery's own count before them."""
        self.commands = {**commands, **self.commands}
        self.knows_app = True

    def commands_of_app(self, ctx: click.Context) -> Mapping[str, click.Command]:
        """The commands of the app that Celery has loaded for this command line, or that `-A` names."""
        app = ctx.obj.app if ctx.obj else _named_app(ctx)
        found: Mapping[str, click.Command] = symbol_by_name(getattr(app, "sub_commands", None) or {})
        return found


class LaterCommand(click.Command):
    """Stands for a command until Celery has loaded the app, or has said why it cannot."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> click.Context:
        """The context of the app's command; the group refuses a name that the app does not have either."""
        if parent is None or not isinstance(parent.command, AppCommands):
            raise TypeError(f"{self.name} is a command of an app, and of no other group")
        group = parent.command
        group.learn(group.commands_of_app(parent))
        _, command, rest = group.resolve_command(parent, [str(self.name), *args])
        if command is None:  # of completion alone, which has no answer then
            return super().make_context(info_name, args, parent, **extra)
        made: click.Context = command.make_context(info_name, rest, parent, **extra)
        return made


def take_over(group: click.Group) -> None:
    """Make Celery's group one that knows an app's commands, and that reads `-A` before `--help`."""
    group.__class__ = AppCommands
    for parameter in group.params:
        if parameter.name == APP:
            parameter.is_eager = True


def _named_app(ctx: click.Context) -> object:
    """The app that the command line names, or None; Celery says what is wrong with it once a command is run."""
    named = ctx.params.get(APP)
    try:
        return find_app(named) if isinstance(named, str) else None
    except (ImportError, AttributeError):
        return None

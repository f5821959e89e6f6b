"""Celery's only plugin of ours (entry point group `celery.commands`): it adds no command to any app.

It makes Celery's group one that asks the app of `-A` for commands of its own. Celery makes the group while it is being
imported, adds the plugins to it, then its own commands, and gives it to nobody: so the group is met when a command is
added to one that has the plugin.
"""

import click
from click_didyoumean import DYMGroup

from commands.command_line.app_commands import take_over

plugin = click.Command("postroom")


def meet(group: DYMGroup, cmd: click.Command, name: str | None = None) -> None:
    """Add a command as ever; a group that has the plugin is taken over first, and loses it."""
    if group.commands.get(plugin.name) is plugin:
        del group.commands[plugin.name], DYMGroup.add_command
        take_over(group)
    click.Group.add_command(group, cmd, name)


DYMGroup.add_command = meet

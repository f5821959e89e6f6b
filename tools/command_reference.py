"""The reference page of the operators' commands, read off the commands themselves."""

from collections.abc import Iterator

import click

from commands.command_line.every_command import COMMANDS
from tools.reference_text import page, phrase, table


def commands_page() -> str:
    """Every command with its arguments and options."""
    groups = [COMMANDS[name] for name in sorted(COMMANDS)]
    parts = [part for group in groups for part in _sections(group, f"celery -A tasks {group.name}")]
    opening = (
        "Sub-commands of `celery -A tasks`. Each ends with exit status 0 when it did what it was asked, with 1 when"
        " not, and with 2 when it was not understood."
    )
    return page("Commands", opening, *parts)


def _sections(command: click.Command, words: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from _sections(command.commands[name], f"{words} {name}")
        return
    arguments = [_argument(one) for one in command.params if isinstance(one, click.Argument)]
    yield f"## {words.removeprefix('celery -A tasks ')}\n\n`{' '.join((words, *arguments))}`\n\n{phrase(command.help)}"
    options = [one for one in command.params if isinstance(one, click.Option)]
    yield table(("option", "value", "meaning"), [(_names(one), _value(one), _meaning(one)) for one in options])


def _argument(argument: click.Argument) -> str:
    name = (argument.name or "").upper().removesuffix("S" if argument.nargs == -1 else "")
    shown = name if argument.required else f"[{name}]"
    return f"{shown}..." if argument.nargs == -1 else shown


def _names(option: click.Option) -> str:
    return ", ".join(f"`{name}`" for name in option.opts)


def _value(option: click.Option) -> str:
    if option.is_flag:
        return "-"
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    if isinstance(option.type, click.IntRange):
        return "number"
    return option.metavar or option.type.name


def _meaning(option: click.Option) -> str:
    remarks = [option.help or ""]
    if option.required:
        remarks.append("Required.")
    if option.multiple and "repeated" not in remarks[0]:
        remarks.append("May be given more than once.")
    return " ".join(filter(None, remarks))

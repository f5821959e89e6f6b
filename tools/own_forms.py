"""Commands and routes that no operation declares, because their form is their own; and the events that each writes."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import click

from commands.command_line.every_command import COMMANDS
from domain.orgs.access.api_keys import Role
from gateway.api.openapi import description
from gateway.app import create_app
from operations.areas import areas
from operations.operation import Route
from settings import Settings
from tools.reference_text import phrase, table

HEADS = ("what it does", "command", "route", "role", "audit event")
PARAMETER = re.compile(r"\{[^{}]*\}")


class OwnForm(NamedTuple):
    """A command, a route, or the two that do the same."""

    command: str | None = None
    route: str | None = None
    role: Role | None = None
    """The least that a key needs for the route; None where it asks for no key, or where there is no route."""
    events: tuple[str, ...] = ()


FORMS = (
    OwnForm("accounts add", events=("account.connected",)),
    OwnForm("accounts backfill", events=("job.enqueued",)),
    OwnForm("accounts backfills"),
    OwnForm("accounts connect", "POST /v1/accounts/connect", Role.OPERATOR, ("account.consent_asked",)),
    OwnForm("accounts reseal"),
    OwnForm("artifacts put", "PUT /v1/artifacts", Role.WRITER, ("artifact.stored",)),
    OwnForm("audit export"),
    OwnForm("audit exports"),
    OwnForm("database adopt-spec026", events=("jobs.adopted",)),
    OwnForm("database migrate"),
    OwnForm("database restored"),
    OwnForm("doctor"),
    OwnForm("jobs enqueue", "POST /v1/jobs", Role.WRITER, ("job.enqueued",)),
    OwnForm("orgs move", events=("org.leaving", "org.moved")),
    OwnForm("orgs stay", events=("org.stayed",)),
    OwnForm("planning import-file", events=("artifact.stored", "availability.import_ordered")),
    OwnForm("rules test", "POST /v1/rules/{rule_id}/test", Role.WRITER),
    OwnForm(route="POST /v1/rules/test", role=Role.WRITER),
    OwnForm("secrets list"),
    OwnForm("secrets remove", events=("secret.removed",)),
    OwnForm("secrets reseal"),
    OwnForm("secrets set", events=("secret.set",)),
    OwnForm("workflows graph", "GET /v1/workflows/runs/{run_id}/graph", Role.READER),
    OwnForm(route="GET /v1/workflows/definitions/{name}/graph", role=Role.READER),
    OwnForm("workflows validate", "POST /v1/workflows/validate", Role.READER),
    OwnForm(route="GET /v1/users/{user_id}/inbox/stream", role=Role.READER),
    OwnForm(route="GET /v1/openapi.json"),
)


def own_commands() -> Mapping[str, str]:
    """The commands that no operation declares, each with its help."""
    declared = {(area.name, one.command) for area in areas() for one in area.operations}
    leaves = (leaf for name in sorted(COMMANDS) for leaf in _leaves(COMMANDS[name], (name,)))
    return {" ".join(words): _first(command.help) for words, command in leaves if (words[0], words[-1]) not in declared}


def own_routes() -> Mapping[str, str]:
    """The routes of the HTTP API that no operation declares, each with its description."""
    operations = (one for area in areas() for one in area.operations)
    routes = (one.route for one in operations if isinstance(one.route, Route))
    declared = {_nameless(f"{route.verb} /v1{route.path}") for route in routes}
    paths = description(create_app(Settings()))["paths"]
    all_of_them = {f"{verb.upper()} {path}": one for path, item in paths.items() for verb, one in item.items()}
    return {route: _first(one["description"]) for route, one in all_of_them.items() if _nameless(route) not in declared}


def own_forms() -> str:
    """Their section of the page of operations."""
    commands, routes = own_commands(), own_routes()
    rows = [
        (
            commands[one.command] if one.command else routes[one.route or ""],
            f"`{one.command}`" if one.command else "none",
            f"`{one.route}`" if one.route else "none",
            one.role.value if one.role else "no key" if one.route else "none",
            " and ".join(f"`{event}`" for event in one.events) or "none",
        )
        for one in FORMS
    ]
    words = (
        "Files, pictures, streams, checks, and what takes logins or keys that a gateway does not have: these commands"
        " and routes are written by hand, and no page of the console is made from them. An operator at a terminal has"
        " every command."
    )
    return f"## Forms of their own\n\n{words}\n\n{table(HEADS, rows)}"


def _leaves(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from _leaves(command.commands[name], (*words, name))
        return
    yield words, command


def _first(text: str | None) -> str:
    """The first paragraph of a text, as one line."""
    return phrase((text or "").partition("\n\n")[0])


def _nameless(route: str) -> str:
    """A route without the names of its parameters."""
    return PARAMETER.sub("{}", route)

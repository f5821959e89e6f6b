"""The page of operations has each operation, and each command and route that no operation declares."""

import ast
from collections.abc import Iterator

from fastapi.routing import APIRoute, iter_route_contexts

from domain.jobs.audit.event_names import OF_NO_OPERATION
from domain.orgs.access.api_keys import Role
from gateway.app import create_app
from gateway.http import callers
from operations.areas import areas
from settings import Settings
from tests.house.reading import read_house
from tools.operations_reference import operations_page
from tools.own_forms import FORMS, own_commands, own_routes

ROOMS = {"operations", "commands", "gateway", "tasks", "engine"}
DECLARES = {"look", "deed"}
ROLES = {
    callers.reader: Role.READER,
    callers.writer: Role.WRITER,
    callers.uploader: Role.WRITER,
    callers.operator: Role.OPERATOR,
}
BY_NO_FORM = {
    *("account.consent_refused", "artifact.downloaded", "effect.unrecorded", "notification.refused", "operator.looked"),
}
"""What a browser does at a link of ours, what the ledger refuses to a job, calls that ended late, looks at values."""


def declarations() -> Iterator[str]:
    """The functions of our rooms that are declared as operations, as their source says."""
    for module in read_house():
        if module.room in ROOMS:
            for function in module.functions():
                called = (one.func for one in function.decorator_list if isinstance(one, ast.Call))
                if any(isinstance(one, ast.Attribute) and one.attr in DECLARES for one in called):
                    yield function.name


def test_each_operation_that_the_source_declares_has_a_line_of_the_table() -> None:
    declared = sorted(declarations())
    assert len(declared) > 150
    assert sorted(one.name for area in areas() for one in area.operations) == declared
    written = operations_page()
    for area in areas():
        for one in area.operations:
            assert written.count(f"\n| {one.name.replace('_', ' ')} | ") == 1


def test_each_command_and_route_that_no_operation_declares_has_a_line() -> None:
    assert sorted(one.command for one in FORMS if one.command) == sorted(own_commands())
    assert sorted(one.route for one in FORMS if one.route) == sorted(own_routes())
    assert {"orgs move", "orgs stay", "jobs enqueue"} <= set(own_commands())


def test_each_event_of_no_operation_is_written_by_a_form_of_its_own() -> None:
    of_operations = {event for area in areas() for one in area.operations for event in one.events}
    assert not OF_NO_OPERATION & of_operations
    of_forms = {event for one in FORMS for event in one.events}
    assert of_forms - of_operations == OF_NO_OPERATION - BY_NO_FORM


def test_each_route_of_its_own_form_asks_for_the_role_that_its_line_says() -> None:
    """The gateway knows a caller by the first thing that a route depends on."""
    asked = {
        f"{verb} {context.path}": {ROLES[one.call] for one in route.dependant.dependencies if one.call in ROLES}
        for context in iter_route_contexts(create_app(Settings()).routes)
        if isinstance(route := context.original_route, APIRoute)
        for verb in route.methods or ()
    }
    said = {one.route: {one.role} - {None} for one in FORMS if one.route}
    assert {route: asked[route] for route in said} == said

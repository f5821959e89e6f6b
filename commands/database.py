"""`celery -A tasks database`: bring the database to this release; `celery migrate` is Celery's own, for brokers."""

import click

from commands.answers import FleetGroup, json_option, show_document
from engine.app import write_catalogue
from engine.catalogue import catalogue
from engine.runtime import runtime
from observability.on_demand import on_demand
from storage.postgres.readiness import newest_revision


@click.group(cls=FleetGroup)
def database() -> None:
    """Bring the database to this release."""


@database.command("migrate")
@json_option
def migrate(as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Run the migrations that are missing, set up the roles, and publish the catalogue; harmless to repeat."""
    settings = runtime().settings
    on_demand("storage.postgres.migrate:upgrade")(settings, write_catalogue)
    document = {"revision": newest_revision(), "job_types": [job_type.name for job_type in catalogue]}
    show_document("database", document, as_json=as_json)

"""`celery -A tasks database`: bring the database to this release; `celery migrate` is Celery's own, for brokers."""

import click

from providers.on_demand import on_demand
from storage.readiness import newest_revision
from tasks.app import publish_catalogue
from tasks.catalogue import catalogue
from tasks.commands.answers import FleetGroup, json_option, show_document
from tasks.runtime import runtime


@click.group(cls=FleetGroup)
def database() -> None:
    """Bring the database to this release."""


@database.command("migrate")
@json_option
def migrate(as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Run the migrations that are missing, set up the roles, and publish the catalogue; harmless to repeat."""
    settings = runtime().settings
    on_demand("storage.migrate:upgrade")(settings)
    publish_catalogue()
    document = {"revision": newest_revision(settings), "job_types": [job_type.name for job_type in catalogue]}
    show_document("database", document, as_json=as_json)

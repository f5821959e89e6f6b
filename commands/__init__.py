"""The operators' command line: sub-commands of `celery -A tasks`, named as entry points in pyproject.toml.

`-A tasks` fills the catalogue, in which the commands look job types up. They do not import `tasks` themselves: Celery
loads its sub-commands first, and hides the error of one that cannot be imported.
"""

from collections.abc import Mapping

import click

from commands.accounts import accounts
from commands.audit import audit
from commands.database import database
from commands.deadletters import deadletters
from commands.doctor import doctor
from commands.jobs import jobs
from commands.mail.rules import rules
from commands.operations import AREAS
from commands.orgs import orgs
from commands.planning import planning
from commands.secrets import secrets
from commands.workflows import workflows
from engine.worker import inspection  # noqa: F401  # inspect sends only the names that its own process knows

__all__ = [
    "accounts",
    "audit",
    "database",
    "deadletters",
    "doctor",
    "jobs",
    "orgs",
    "planning",
    "rules",
    "secrets",
    "workflows",
]

COMMANDS: Mapping[str, click.Command] = vars(AREAS) | {name: globals()[name] for name in __all__}
"""Every sub-command by its name: those that areas declare, and those of modules of their own."""

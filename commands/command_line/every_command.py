"""Every sub-command by its name. The app names this module, and it is loaded when one of the commands is needed.

`-A tasks` fills the catalogue, in which the commands look job types up.
"""

from collections.abc import Mapping

import click

from commands.accounts import accounts
from commands.artifacts import artifacts
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

OF_MODULES = (
    accounts,
    artifacts,
    audit,
    database,
    deadletters,
    doctor,
    jobs,
    orgs,
    planning,
    rules,
    secrets,
    workflows,
)

COMMANDS: Mapping[str, click.Command] = vars(AREAS) | {str(command.name): command for command in OF_MODULES}
"""Those that areas declare, and those of modules of their own."""

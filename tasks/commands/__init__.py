"""The operators' command line: sub-commands of `celery -A tasks`, named as entry points in pyproject.toml."""

from tasks.commands.account_commands import accounts
from tasks.commands.budget_commands import budgets
from tasks.commands.database_commands import database
from tasks.commands.dead_letter_commands import deadletters
from tasks.commands.doctor import doctor
from tasks.commands.gate_commands import gates
from tasks.commands.job_commands import jobs

__all__ = ["accounts", "budgets", "database", "deadletters", "doctor", "gates", "jobs"]

"""The schema: roles, tables and functions, an area a file."""

from storage.migrations.statements import create_functions, files_besides, run_files

revision = "0001_pre_baseline"
down_revision = None

IN_ORDER = (
    "0001_roles",
    "0001_erasure",
    "0001_tenancy",
    "0001_moves",
    "0001_secrets",
    "0001_access",
    "0001_operators",
    "0001_ledger",
    "0001_jobs",
    "0001_effects",
    "0001_audit",
    "0001_counting",
    "0001_history",
    "0001_results",
    "0001_schedules",
    "0001_accounts",
    "0001_consents",
    "0001_money",
    "0001_mail",
    "0001_rules",
    "0001_actions",
    "0001_outgoing",
    "0001_agents",
    "0001_workflows",
    "0001_approvals",
    "0001_backfills",
    "0001_email",
    "0001_notifications",
    "0001_reminders",
    "0001_planning",
    "0001_artifacts",
    "0001_bulk_actions",
)
"""Tables in the order of their references; a file that is not named comes after these."""


def upgrade() -> None:
    """Make roles, what checks and policies call, tables in the order of their references, and functions."""
    run_files(IN_ORDER[0])
    create_functions("tenancy", "secrets", "bounds", "rules", "erasure")
    run_files(*IN_ORDER[1:], *files_besides("0001", *IN_ORDER))
    create_functions(
        "orgs",
        "guards",
        "payloads",
        "claims",
        "end_hooks",
        "gates",
        "endings",
        "enqueue",
        "effects",
        "audit",
        "results",
        "lists",
        "accounts",
        "actions",
        "agents",
        "approvals",
        "email",
        "notifications",
        "reminders",
        "bulk_actions",
        "planning",
        "workflows",
        "why",
        "erasing",
        "moves",
        "security",
    )


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

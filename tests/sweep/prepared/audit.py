"""Prepares changes that lack details."""

from uuid import UUID

from domain.jobs.job import SYSTEM_ORG
from tests.doubles.changed_sheets import add_change
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.prepared.places import enqueue


def changed_sheet(env: MailEnvironment) -> UUID:
    """A run sheet that changed twice, and nobody has said how."""
    for revision, name in enumerate(("Build", "Strike"), 2):
        add_change(env.database, env.account.org_id, name, revision)
    return enqueue(env, "audit.enrich", {})


def org_that_lacks_details(env: MailEnvironment) -> UUID:
    """An org with a change that nobody has asked to be enriched."""
    add_change(env.database, env.account.org_id, "Build")
    return enqueue(env, "audit.catch_up", {}, SYSTEM_ORG)

"""Prepares projects of the environment's org."""

from uuid import UUID

from domain.planning.model import Plan
from storage.planning.projects import Project
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.planning.plans import given, person, slot
from tests.doubles.planning.stored_plans import store_plan
from tests.sweep.prepared.places import enqueue

PLAN = Plan((slot(1, 8, 12), slot(2, 9, 11)), (person(1), person(2)), (given(1, 1), given(2, 1)))


def _project(env: MailEnvironment) -> Project:
    with env.process.database.ledger() as tx:
        return store_plan(tx, env.account.org_id, PLAN)[0]


def double_booked(env: MailEnvironment) -> UUID:
    """A project with a person who is in two slots at once."""
    times = {"since": "2026-03-02T00:00:00Z", "until": "2026-03-03T00:00:00Z"}
    return enqueue(env, "planning.scan_conflicts", {"project_id": str(_project(env).project_id), **times})


def to_be_planned(env: MailEnvironment) -> UUID:
    """A project for which a better plan exists."""
    wanted = {"project_id": str(_project(env).project_id), "alternatives": 2, "differ": 1}
    return enqueue(env, "planning.suggest_assignments", wanted)

"""Prepares projects of the environment's org."""

from uuid import UUID

from domain.planning.calendars.availability import AvailabilityEntry
from domain.planning.model import Availability, AvailabilityKind, Plan
from storage.planning import imports
from storage.planning.projects import Project
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.planning.plans import given, person, person_id, slot, span
from tests.doubles.planning.stored_plans import store_plan
from tests.doubles.stored_artifacts import store_artifact
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


def to_be_exported(env: MailEnvironment) -> UUID:
    """A project whose plan leaves as a table; pages have the time in them, and so other bytes in each run."""
    return enqueue(env, "exports.project_plan", {"project_id": str(_project(env).project_id), "format": "csv"})


def times_in_a_file(env: MailEnvironment) -> UUID:
    """A table with a time that is new, one that has changed, and one that an import has taken before."""
    project, source = _project(env), "times.csv"
    before = Availability(span(8, 9), AvailabilityKind.BUSY)
    table = (
        "collaborator,from,until,kind,id\n"
        "person 1,2026-03-02T08:00Z,2026-03-02T09:00Z,busy,same\n"
        "person 1,2026-03-02T10:00Z,2026-03-02T11:00Z,busy,moved\n"
        "person 2,2026-03-02T10:00Z,2026-03-02T11:00Z,,new\n"
    )
    with env.process.database.ledger() as tx:
        entries = [AvailabilityEntry(str(person_id(1)), name, before) for name in ("same", "moved")]
        imports.write(tx, project.ref, source, entries)
        file = store_artifact(tx, env.process.settings, project.org_id, table.encode(), name=source)
    asked = {"project_id": str(project.project_id), "artifact_id": str(file.artifact_id)}
    return enqueue(env, "imports.availability", asked)


def faults_in_a_file(env: MailEnvironment) -> UUID:
    """A dry run over a table of which nothing can be taken: its faults become an artifact."""
    project = _project(env)
    with env.process.database.ledger() as tx:
        table = b"collaborator,from,until\nnobody,soon,later\n"
        file = store_artifact(tx, env.process.settings, project.org_id, table, name="times.csv")
    asked = {"project_id": str(project.project_id), "artifact_id": str(file.artifact_id), "dry_run": True}
    return enqueue(env, "imports.availability", asked)

"""Every entry point takes a job for a project of its org, and refuses one for any other."""

from uuid import UUID, uuid4

from psycopg import Connection

from engine.runtime import Runtime
from tests.doubles.factories import make_org, make_project
from tests.engine.entry_points import AT_EACH, GOOD, EntryPoint, Given, celery, http, refusal


@AT_EACH
def test_each_entry_point_takes_a_project_of_the_org_and_no_other(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    def asked(project: UUID) -> Given:
        return {"payload": GOOD, "project_id": str(project) if enqueue in {celery, http} else project}

    for project in (uuid4(), make_project(database, make_org(database))):
        wanted = ("project_id", "names no project of the org")
        assert refusal(process, org, enqueue, asked(project)) == wanted
    assert database.execute("select count(*) from jobs").fetchone() == (0,)
    database.execute("delete from refused_messages")
    own = make_project(database, org)
    job_id = enqueue(process, org, asked(own))
    assert database.execute("select project_id from jobs where id = %s", (job_id,)).fetchone() == (own,)

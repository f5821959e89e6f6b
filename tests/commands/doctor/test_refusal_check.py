"""Whether `doctor` names messages that were refused, whose senders may never hear of it."""

from psycopg import Connection

from commands.doctor import of_ledger
from engine.runtime import Runtime
from operations import health

refusal_check = of_ledger(health.refusal_check)


def test_refused_messages_are_named_for_an_hour(process: Runtime, database: Connection) -> None:
    assert refusal_check(process).ok
    database.execute(
        "insert into refused_messages (task, task_id, field, reason, sealed_content) values ('a', 'b', 'c', 'd', '')"
    )
    check = refusal_check(process)
    assert (check.ok, check.finding[:2]) == (False, "1 ")
    assert "jobs refused" in check.remedy
    database.execute("update refused_messages set at = at - interval '61 minutes'")
    assert refusal_check(process).ok

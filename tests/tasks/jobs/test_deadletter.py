"""The alert for a dead job: the ledger enqueues it in SQL, and the family reads it."""

from domain.payloads.deadletter import QuarantinePayload
from tests.doubles.mail_environment import MailEnvironment


def test_the_ledger_enqueues_the_alert_as_its_payload_class_stores_it(env: MailEnvironment) -> None:
    dead = env.enqueue("gmail.ingest", {"message_id": "m", "thread_id": "t"})
    env.database.execute("update jobs set payload = payload || '{\"message_id\": null}' where id = %s", (dead,))
    assert env.run(dead) == "dead"
    query = "select id, payload, payload_version from jobs where job_type = 'deadletter.quarantine'"
    ((alert, payload, version),) = env.database.execute(query).fetchall()
    assert payload == QuarantinePayload(job_id=dead).document()
    assert version == QuarantinePayload.declaration.version
    assert env.run(alert) == "succeeded"

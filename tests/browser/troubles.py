"""What goes wrong on a stand, and what waits there for a person, for one player."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sandbox.demo.doors import DoorRefused
from sandbox.emulator.fault_order import FaultOrder
from tests.browser.stand import Stand

FORWARD_TO = "colleague@postroom.example"
WORKFLOW = {
    "name": "morning-tidy",
    "nodes": {
        "labels": {"job": "gmail.sync_labels", "with": {"account_id": "${input.account_id}"}},
        "sync": {"job": "gmail.sync", "needs": ["labels"], "with": {"account_id": "${input.account_id}"}},
        "read": {"wait": {"until": "PT1S"}, "needs": ["labels"]},
        "done": {"job": "gmail.sync_labels", "needs": ["sync", "read"], "with": {"account_id": "${input.account_id}"}},
    },
    "input": {"type": "object", "properties": {"account_id": {"type": "string"}}, "required": ["account_id"]},
}
MANY = """
with made as (
  insert into jobs (id, org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type,
    actor_id, request_id, correlation_id, max_attempts, attempt, deadline, state, created_at, run_at, started_at,
    finished_at, error)
  select uuidv7(- interval '1 hour' - n * interval '100 milliseconds'), %(org)s::uuid, 'threads.cleanup', 'default',
    jsonb_build_object('account_id', %(account)s::text, 'thread_id', to_hex(1000000 * %(series)s::int + n),
      'action', 'check_sent'),
    1, 'threads.cleanup:' || %(code)s::text || n, false, 'system', 'browser', 'browser', 'browser', 3, 3,
    interval '3 minutes', 'dead', at, at, at, at,
    jsonb_build_object('code', %(code)s::text, 'reason', 'Gmail answered 503: the service was away')
  from (select n, now() - interval '1 hour' - n * interval '100 milliseconds' as at from generate_series(1, %(many)s) n)
  returning id, org_id, job_type, queue, payload, payload_version, error, created_at
)
insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, created_at)
select org_id, id, job_type, queue, payload, payload_version, error ->> 'reason', error,
  'Gmail was away. Replay these when it answers again.', created_at from made
"""


@dataclass(frozen=True)
class Troubles:
    """What one player finds."""

    job_id: str
    """A job that is dead: it names a thread about which Gmail says nothing but 503."""
    letter_id: str
    other_thread: str
    """The thread that it should have named."""
    approval_id: str
    """An action that waits for a person's word."""
    done_id: str
    """An action that was done, and can be taken back."""
    archived: str
    """The message that it archived."""
    run_id: str
    """A run of a workflow whose node `labels` has failed."""
    code: str
    """The error of many dead letters."""


def make_troubles(stand: Stand, players: Sequence[str], many: int) -> dict[str, Troubles]:
    """Make them for each player, side by side: what dies takes its attempts."""
    stand.door.post("/v1/workflows/definitions", WORKFLOW)
    runs = [_failed_run(stand) for _ in players]
    places = list(stand.places.values())
    for number, player in enumerate(players, 1):
        make_letters(stand, f"away.{player}", number, many)
    # Each player has four messages of their own.
    of_player = [places[4 * number : 4 * number + 4] for number in range(len(players))]
    for wrong, *_ in of_player:
        away = "The service is currently unavailable."
        order = FaultOrder(operation="threads.*", path=wrong.thread_id, times=None, status=503, message=away)
        stand.fleet.gmail.order(order)
    jobs = [
        stand.enqueue("threads.cleanup", account_id=stand.account_id, thread_id=wrong.thread_id, action="done")
        for wrong, *_ in of_player
    ]
    asked = [_action(stand, forward.message_id, kind="forward", to=[FORWARD_TO]) for _, _, forward, _ in of_player]
    done = [_action(stand, archived.message_id, kind="archive") for *_, archived in of_player]
    for action_id in done:
        stand.wait("an action to be done", "select state = 'done' from actions where id = %s", UUID(action_id))
    letters = [stand.wait("a dead letter", "select id from dead_letters where job_id = %s", UUID(one)) for one in jobs]
    return {
        player: Troubles(
            jobs[at],
            str(letters[at]),
            of_player[at][1].thread_id,
            asked[at],
            done[at],
            of_player[at][3].message_id,
            runs[at],
            f"away.{player}",
        )
        for at, player in enumerate(players)
    }


def make_letters(stand: Stand, code: str, series: int, many: int) -> None:
    """Dead letters of one error; a number of their own tells their threads from those of others."""
    given = {"org": stand.org_id, "account": stand.account_id, "code": code, "series": series, "many": many}
    # Without the triggers: each letter would have a job of its own that quarantines it.
    with stand.database.transaction():
        stand.database.execute("set local session_replication_role = replica")
        stand.database.execute(MANY, given)


def _failed_run(stand: Stand) -> str:
    """A run whose first node was refused by Gmail."""
    stand.fleet.gmail.order(FaultOrder(operation="labels.list", times=None, status=400, message="Precondition failed."))
    run_id = str(
        stand.door.post(
            "/v1/workflows/runs", {"workflow": WORKFLOW["name"], "input": {"account_id": stand.account_id}}
        )["run_id"]
    )
    stand.wait("a run to fail", "select state = 'failed' from workflow_runs where id = %s", UUID(run_id))
    stand.fleet.gmail.clear_faults()
    return run_id


def _action(stand: Stand, message_id: str, **action: object) -> str:
    wish = {"account_id": stand.account_id, "message_id": message_id, "action": action}
    try:
        return str(stand.door.post("/v1/actions", wish)["action_id"])
    except DoorRefused as refusal:
        raise AssertionError(f"{action} on {message_id}: {refusal}") from None

"""An org moves between two ledgers with all its rows, wherever the move is cut off; no other org's row changes."""

import json
import subprocess
import sys
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection

from domain.jobs.failures import Conflict, Failure, Gone, Invalid, Transient
from domain.jobs.job import SYSTEM_ORG
from operations.orgs import moves
from operations.orgs.moves import MoveStep, Patience
from settings import Settings
from storage.jobs import ledger
from storage.jobs.audit_log import counting
from storage.orgs import moving, orgs
from storage.postgres.database import Database
from storage.postgres.execution import RowLocked, StatementAborted
from tests.doubles.factories import LEASE, claim_one, enqueue_one, make_org, make_worker
from tests.fleet.fleet import environment_of
from tests.house.reading import ROOT
from tests.operations.orgs.moves.two_cells import BY, HERE, THERE, TwoCells, count_tables, rows_of
from tests.waiting import eventually


def other_orgs(ledger: Connection, org_id: UUID) -> dict[UUID, dict[str, list[str]]]:
    found = ledger.execute("select id from orgs where id not in (%s, %s)", (org_id, SYSTEM_ORG)).fetchall()
    return {other: rows_of(ledger, other) for (other,) in found}


def without_the_move(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """Without what the move itself has written: its gate, its events, and since when the org is closed."""
    return rows | {
        "gates": [row for row in rows["gates"] if ",move," not in row],
        "audit_entries": [row for row in rows["audit_entries"] if "org.leaving" not in row and "org.moved" not in row],
    }


def test_every_row_of_every_table_comes_along_and_none_stays(cells: TwoCells, org_id: UUID) -> None:
    before, others = rows_of(cells.here, org_id), [other_orgs(one, org_id) for one in (cells.here, cells.there)]
    assert len(before) == count_tables(cells.here)
    assert [name for name, rows in before.items() if not rows] == []
    moved = moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert without_the_move(rows_of(cells.there, org_id)) == without_the_move(before)
    assert [name for name, rows in rows_of(cells.here, org_id).items() if rows] == []
    assert [other_orgs(one, org_id) for one in (cells.here, cells.there)] == others
    assert cells.open_in(org_id) == [THERE]
    assert (moved.org_id, moved.cell, moved.tables) == (org_id, THERE, len(before))


def test_numbers_are_the_new_ledgers_in_the_old_order(cells: TwoCells, org_id: UUID) -> None:
    entry = (
        "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id)"
        " values (%s, %s, 'system', 'x', 'x', 'x')"
    )
    events = [f"probe.number_{'abcdefghij'[number]}" for number in range(10)]
    for event in events:
        cells.here.execute(entry, (event, org_id))
        cells.there.execute(entry, ("probe.other", SYSTEM_ORG))
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    query = "select event from audit_entries where org_id = %s and event like 'probe.number%%' order by id"
    assert [event for (event,) in cells.there.execute(query, (org_id,))] == events
    twice = cells.there.execute("select id from audit_entries group by id having count(*) > 1").fetchall()
    assert twice == []
    of_detail = "select e.event from audit_details d join audit_entries e on e.id = d.event_id and e.org_id = d.org_id"
    assert cells.there.execute(f"{of_detail} where d.org_id = %s", (org_id,)).fetchall() == [("probe.done",)]


class CutOffError(Exception):
    """What a kill does to a transaction that is open."""


@pytest.mark.parametrize("step", list(MoveStep))
def test_a_move_that_is_cut_off_goes_on(cells: TwoCells, org_id: UUID, step: MoveStep) -> None:
    before = rows_of(cells.here, org_id)

    def cut_off(reached: MoveStep) -> None:
        if reached is step:
            raise CutOffError

    with pytest.raises(CutOffError):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=cut_off)
    assert cells.open_in(org_id) == ([THERE] if step is MoveStep.OPEN else [])
    steps: list[MoveStep] = []
    moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=steps.append)
    assert steps[-1] is MoveStep.OPEN
    assert cells.open_in(org_id) == [THERE]
    assert without_the_move(rows_of(cells.there, org_id)) == without_the_move(before)
    assert [name for name, rows in rows_of(cells.here, org_id).items() if rows] == []


def test_a_command_that_is_killed_while_rows_go_over_is_repeated(
    cells: TwoCells, org_id: UUID, settings: Settings, there_url: str
) -> None:
    """SIGKILL, while it waits for a table of the new ledger: nothing has left, and the next one brings all."""
    before = rows_of(cells.here, org_id)
    words = ["-m", "celery", "-A", "tasks", "orgs", "move", str(org_id), "--to", THERE, "--files-are-there"]
    environment = environment_of(settings) | {
        "POSTROOM_CELL": HERE,
        "POSTROOM_CELL_DATABASE_URLS": json.dumps({THERE: there_url}),
    }
    command = [sys.executable, *words]
    waiting = "select from pg_locks where not granted and relation = 'users'::regclass"
    with psycopg.connect(there_url) as other:
        other.execute("lock table users in access exclusive mode")
        with subprocess.Popen(command, cwd=ROOT, env=environment) as running:  # noqa: S603 - our own command
            eventually(
                lambda: cells.there.execute(waiting).fetchall() or running.poll() is not None,
                within=60,
                describe="the command to wait for the table",
            )
            running.kill()
    assert cells.open_in(org_id) == []
    assert without_the_move(rows_of(cells.here, org_id))["messages"] == before["messages"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - as above
    assert ended.returncode == 0, ended.stderr
    assert cells.open_in(org_id) == [THERE]
    assert without_the_move(rows_of(cells.there, org_id)) == without_the_move(before)


def test_an_org_that_has_left_goes_nowhere_else(cells: TwoCells, org_id: UUID, store: Database) -> None:
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    again = moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert again.cell == THERE
    elsewhere = moves.Cells(
        database=store, source=cells.cells.source, target=cells.cells.target, here=HERE, there="eu3"
    )
    with pytest.raises(Conflict, match=THERE):
        moves.move(elsewhere, str(org_id), by=BY, has_files=True)
    with store.ledger() as tx, pytest.raises(Gone, match="has moved"):
        orgs.find(tx, str(org_id))


def test_an_org_comes_back_with_all(cells: TwoCells, org_id: UUID, there: Database) -> None:
    before = rows_of(cells.here, org_id)
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    moves.move(cells.back(there), str(org_id), by=BY, has_files=True)
    assert cells.open_in(org_id) == [HERE]
    assert without_the_move(rows_of(cells.here, org_id)) == without_the_move(before)
    assert [name for name, rows in rows_of(cells.there, org_id).items() if rows] == []


def test_whoever_asks_meanwhile_comes_again_and_afterwards_hears_where(
    cells: TwoCells, store: Database, database: Connection
) -> None:
    org_id = make_org(database)
    heard = []

    def ask(step: MoveStep) -> None:
        try:
            enqueue_one(store, org_id)
            heard.append((step, "taken"))
        except RowLocked:
            heard.append((step, "come again"))
        except Invalid as refusal:
            heard.append((step, refusal.reason))

    moves.move(cells.cells, str(org_id), by=BY, done=ask)
    elsewhere = f"org_id: names an org of the cell {THERE}"
    assert heard == [
        (MoveStep.DRAINING, "taken"),
        (MoveStep.CLOSED, "come again"),
        (MoveStep.COPIED, "come again"),
        (MoveStep.LEFT, elsewhere),
        (MoveStep.OPEN, elsewhere),
    ]
    assert len(rows_of(cells.there, org_id)["jobs"]) == 1


def test_held_jobs_are_given_back_and_those_of_other_orgs_in_the_same_claim_are_not(
    cells: TwoCells, store: Database, database: Connection
) -> None:
    """P4: their workers write nothing more. A claim takes jobs of many orgs by one token."""
    org_id, other = make_org(database), make_org(database)
    job_ids = [enqueue_one(store, org_id), enqueue_one(store, other)]
    with store.ledger() as tx:
        claimed = ledger.claim(tx, job_ids, make_worker(store).worker_id, lease=LEASE, token=uuid4())
    assert {job.job_id for job in claimed.jobs} == {*job_ids}
    moved = moves.move(cells.cells, str(org_id), by=BY, patience=Patience(drained_within_s=0))
    assert moved.given_back == 1
    state = "select state, attempt, claim_token from jobs where org_id = %s"
    assert cells.there.execute(state, (org_id,)).fetchall() == [("queued", 0, None)]
    assert cells.here.execute(state, (other,)).fetchall() == [("claimed", 0, claimed.jobs[0].token)]


def test_an_org_of_another_cell_is_not_moved_from_here(cells: TwoCells, there: Database, database: Connection) -> None:
    """A move that is asked for in the wrong cell writes nothing, and the right one goes on."""
    org_id = make_org(cells.there)
    with pytest.raises(Gone, match="there is no org"):
        moves.move(cells.cells, str(org_id), by=BY)
    assert database.execute("select from org_moves").fetchall() == []
    assert database.execute("select from gates").fetchall() == []
    assert cells.open_in(org_id) == [THERE]
    moves.move(cells.back(there), str(org_id), by=BY)
    assert cells.open_in(org_id) == [HERE]


LATE = """insert into audit_entries (event, org_id, job_id, actor_type, actor_id, request_id, correlation_id, data)
values ('effect.unrecorded', %s, uuidv7(), 'system', 'x', 'x', 'x', '{"key": "send:1"}') returning job_id, at"""


def test_what_a_late_worker_recorded_in_the_old_cell_comes_back_with_the_org(
    cells: TwoCells, there: Database, org_id: UUID
) -> None:
    """The only record of a call that ended after the org had left; the way back is cut off once, too."""
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    late = cells.here.execute(LATE, (org_id,)).fetchall()

    def cut_off(reached: MoveStep) -> None:
        if reached is MoveStep.COPIED:
            raise CutOffError

    with pytest.raises(CutOffError):
        moves.move(cells.back(there), str(org_id), by=BY, has_files=True, done=cut_off)
    moves.move(cells.back(there), str(org_id), by=BY, has_files=True)
    recorded = "select job_id, at from audit_entries where org_id = %s and event = 'effect.unrecorded'"
    assert cells.here.execute(recorded, (org_id,)).fetchall() == late


def test_the_old_cells_log_has_the_move_as_soon_as_the_org_has_left(cells: TwoCells, org_id: UUID) -> None:
    """And once, although the move is cut off before the org is open."""
    written = "select org_id, data ->> 'cell' from audit_entries where event = 'org.moved'"

    def cut_off(reached: MoveStep) -> None:
        if reached is MoveStep.LEFT:
            raise CutOffError

    with pytest.raises(CutOffError):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=cut_off)
    assert cells.here.execute(written).fetchall() == [(SYSTEM_ORG, THERE)]
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert cells.here.execute(written).fetchall() == [(SYSTEM_ORG, THERE)]
    assert cells.there.execute(written).fetchall() == [(org_id, THERE)]


def test_of_two_who_move_an_org_the_slower_hears_that_it_has_left(cells: TwoCells, org_id: UUID) -> None:
    def overtake(reached: MoveStep) -> None:
        if reached is MoveStep.CLOSED:
            moves.move(cells.cells, str(org_id), by=BY, has_files=True)

    with pytest.raises(Conflict, match=f"has left for the cell {THERE}: somebody else has moved it"):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=overtake)
    assert cells.open_in(org_id) == [THERE]


CHANGES = {
    "update users set zone = 'Europe/Berlin' where org_id = %s": "40001",
    "delete from users where org_id = %s": "40001",
    "insert into users (org_id, email) values (%s, 'new@example.com')": "23503",
    "insert into accounts (org_id, user_id, email, status)"
    " select org_id, id, email, 'disconnected' from users where org_id = %s": "23503",
}
"""By another session after the snapshot, and what PostgreSQL says of it to whoever lets the org leave."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_after_the_snapshot_keeps_the_org(cells: TwoCells, database: Connection, change: str) -> None:
    org_id = make_org(database)
    database.execute("insert into users (org_id, email) values (%s, 'ada@example.com')", (org_id,))
    database.execute("delete from contact_points where org_id = %s", (org_id,))
    with cells.cells.source.transaction() as tx:
        moving.begin(tx, org_id, THERE, by="ada")
    with pytest.raises((Failure, psycopg.Error)) as caught, cells.cells.source.transaction() as leaving:
        moving.hold(leaving, org_id, THERE)
        database.execute(change.encode(), (org_id,))
        with cells.cells.target.transaction() as coming:
            moving.hand_over(leaving, coming, org_id)
    said = [getattr(one, "sqlstate", None) for one in (caught.value, caught.value.__cause__)]
    assert CHANGES[change] in said
    assert moves.is_changed(caught.value)
    assert cells.open_in(org_id) == [HERE]


@pytest.mark.parametrize("sqlstate", ["53100", "57014"])
def test_a_full_disk_and_a_time_limit_are_nobodys_change(cells: TwoCells, org_id: UUID, sqlstate: str) -> None:
    """They are said as they are, at once."""
    cells.there.execute(
        "create function public.refusing() returns trigger language plpgsql as"
        f" $$begin raise exception 'no' using errcode = '{sqlstate}'; end$$;"
        " create trigger refusing before insert on users for each row execute function public.refusing()"
    )
    with pytest.raises(StatementAborted) as caught:
        moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert not moves.is_changed(caught.value)


def test_an_open_transaction_is_waited_for_by_name(cells: TwoCells, org_id: UUID, database_url: str) -> None:
    with psycopg.connect(database_url) as other:
        other.execute("select from users where org_id = %s for update", (org_id,))
        with pytest.raises(Transient, match=r"still open: process \d+ of postgres; .*goes on"):
            moves.move(cells.cells, str(org_id), by=BY, has_files=True, patience=Patience(waits_s=1))
    assert cells.open_in(org_id) == []
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert cells.open_in(org_id) == [THERE]


def test_what_was_counted_in_the_old_cell_is_not_counted_again(
    cells: TwoCells, store: Database, there: Database, database: Connection
) -> None:
    org_id = make_org(database)
    for _ in range(3):
        claim_one(store, enqueue_one(store, org_id))
    moves.move(cells.cells, str(org_id), by=BY, patience=Patience(drained_within_s=0))
    assert counted(there, org_id) == {}
    enqueue_one(there, org_id)
    assert counted(there, org_id) == {"job.enqueued": 1}


def counted(ledger: Database, org_id: UUID) -> dict[str, int]:
    """The events of jobs of the org that a counting of the whole log counts."""
    with ledger.ledger() as tx:
        counts = counting.count_events(tx, after=0, upto=2**62, bounds=[1.0])
        assert counting.mark(tx).entry > 0
    of_org = [one for one in counts.of_orgs if one.org_id == org_id and one.event.startswith("job.")]
    return {one.event: one.events for one in of_org}


REFUSALS = {
    "update orgs set erasing_since = now() where id = %(org)s;"
    " insert into erasures (org_id, subject, marks, accounts, addresses, ids, reason, begun_by)"
    " values (%(org)s, 'org', '[]', '{}', '{}', 'x', 'x', 'x')": "is being erased",
    "update org_secrets set key_id = 'another8' where org_id = %(org)s": "has not the key",
    "update jobs set job_type = 'nobody.knows' where org_id = %(org)s": "knows no job type nobody.knows",
    "update schedules set job_type = 'nobody.plans', enabled = true where org_id = %(org)s": "nobody.plans",
    "update dead_letters set job_type = 'nobody.mends', state = 'open' where org_id = %(org)s": "nobody.mends",
}


@pytest.mark.parametrize("statement", REFUSALS)
def test_what_cannot_go_on_there_refuses_the_move_and_the_org_runs_on(
    cells: TwoCells, org_id: UUID, statement: str
) -> None:
    for each in statement.split(";"):
        cells.here.execute(each.encode(), {"org": org_id})
    with pytest.raises(Invalid, match=REFUSALS[statement]):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert cells.open_in(org_id) == [HERE]


def test_files_are_said_to_be_there(cells: TwoCells, org_id: UUID) -> None:
    with pytest.raises(Invalid, match="files: are 1"):
        moves.move(cells.cells, str(org_id), by=BY)


def test_a_ledger_of_another_name_or_release_is_refused(cells: TwoCells, org_id: UUID) -> None:
    cells.there.execute("update this_cell set name = 'eu9'")
    with pytest.raises(Invalid, match="leads from the cell eu1 to the cell eu9"):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    cells.there.execute("alter table users add column later text")
    with pytest.raises(Invalid, match="another release"):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True)


def test_the_system_org_stays(cells: TwoCells) -> None:
    with pytest.raises(Invalid, match="each cell has one"):
        moves.move(cells.cells, str(SYSTEM_ORG), by=BY)


def test_a_difference_between_what_left_and_what_came_stops_the_move(cells: TwoCells, org_id: UUID) -> None:
    """A trigger of the other ledger changes what comes: the sums see it, and nothing is lost."""
    cells.there.execute(
        "create function public.louder() returns trigger language plpgsql as"
        " $$begin new.email := 'x' || new.email; return new; end$$;"
        " create trigger louder before insert on users for each row execute function public.louder()"
    )
    with pytest.raises(Conflict, match=r"what came is not what left: users: "):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert rows_of(cells.here, org_id)["users"]
    assert [name for name, rows in rows_of(cells.there, org_id).items() if rows] == []


def test_a_tenant_moves_nothing(cells: TwoCells, org_id: UUID, store: Database) -> None:
    for statement in (
        "insert into org_moves (org_id, state, cell, actor_id) values (postroom.current_org(), 'leaving', 'eu2', 'x')",
        "select from org_moves",
        "update orgs set closed_since = now()",
        "select * from postroom.moving_statements(postroom.current_org())",
        "select postroom.name_doors(postroom.current_org())",
    ):
        with pytest.raises(Exception, match="permission denied"), store.tenant(org_id) as tx:
            tx.raw(statement)
    assert cells.open_in(org_id) == [HERE]

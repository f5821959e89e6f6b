"""Conflicts are scanned (`planning.scan_conflicts`), plans are suggested (`planning.suggest_assignments`), and only a
person's deed makes a proposal the plan.
"""

import ast
import json
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, get_args
from uuid import UUID, uuid4

import pytest

from domain.jobs.failures import Conflict, Forbidden, Gone, Invalid
from domain.jobs.job import Origin
from domain.orgs.access.api_keys import Role
from domain.payloads.planning import MOST_AT_ONCE, ScanConflictsPayload, SuggestAssignmentsPayload, WeightName
from domain.planning.model import WEIGHT_MEANINGS, Assignment, Plan
from engine.enqueue import enqueue
from operations.call import Call
from operations.planning import proposals
from storage.jobs import ledger
from storage.planning import plans, run_sheets
from storage.planning.projects import Project
from storage.planning.run_sheets import Editor
from storage.postgres.queries import statements
from tests.doubles.factories import LEASE, make_org, make_project, make_worker
from tests.doubles.planning.planning_jobs import kept_file, run, stored
from tests.doubles.planning.plans import given, person, person_id, slot, slot_id, small_plan
from tests.doubles.told_people import ToldPeople
from tests.house.reading import ROOT
from tests.waiting import eventually, patient

DAY = {"since": "2026-03-02T00:00:00Z", "until": "2026-03-03T00:00:00Z"}
CREW = (person(1, skills=frozenset({"sound"})), person(2), person(3))
PLAN = Plan((slot(1, 8, 12, skills=frozenset({"sound"})), slot(2, 9, 11, headcount=2)), CREW)


def suggest(told: ToldPeople, project: Project, **wanted: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - fields of a payload
    state, output = run(told, SuggestAssignmentsPayload(project_id=project.project_id, **wanted), project.project_id)
    assert state == "succeeded", output
    return list(output["proposals"])


def artifact(told: ToldPeople, output: dict[str, Any], project: Project) -> dict[str, Any]:
    return dict(json.loads(kept_file(told, output, project.project_id)))


def caller(told: ToldPeople, role: Role = Role.OPERATOR, org_id: UUID | None = None) -> Call:
    process = told.process
    return Call(
        origin=Origin(actor_id="ada"),
        name="ada",
        role=role,
        database=process.database,
        settings=process.settings,
        enqueue=enqueue,
        org_id=org_id or told.org_id,
    )


def assigned(told: ToldPeople) -> list[tuple[UUID, UUID]]:
    query = "select slot_id, collaborator_id from assignments order by slot_id, collaborator_id"
    return told.database.execute(query).fetchall()


def test_solvers_of_an_org_leave_a_slot_of_a_worker_to_others(told: ToldPeople) -> None:
    """One may take 25 minutes: of fifty, two run at once."""
    other = make_org(told.database, "another")
    with told.process.database.ledger() as tx:
        asked = [SuggestAssignmentsPayload(project_id=uuid4()) for _ in range(5)]
        mine = [made.job_id for made in enqueue(tx, *asked, org_id=told.org_id)]
        (theirs,) = [made.job_id for made in enqueue(tx, asked[0], org_id=other)]
    worker = make_worker(told.process.database)
    with told.process.database.ledger() as tx:
        claims = ledger.claim(tx, [*mine, theirs], worker.worker_id, lease=LEASE)
    claimed = {job.job_id for job in claims.jobs}
    assert (len(claimed), len(claimed & set(mine))) == (MOST_AT_ONCE + 1, MOST_AT_ONCE)
    assert theirs in claimed


def test_a_scan_counts_and_names_what_breaks_a_rule(told: ToldPeople) -> None:
    both = (Assignment(slot_id(1), person_id(2)), Assignment(slot_id(2), person_id(2)))
    project = stored(told, replace(PLAN, assignments=both))
    payload = ScanConflictsPayload(project_id=project.project_id, **DAY)
    state, output = run(told, payload, project.project_id)
    assert state == "succeeded"
    assert output["counts"] == {"skill": 1, "availability": 0, "overlap": 1, "travel": 0, "hours": 0}
    skill, overlap = output["conflicts"]
    assert (skill["kind"], skill["detail"]) == ("skill", "sound")
    assert overlap["slot_ids"] == [str(slot_id(1)), str(slot_id(2))]
    again = run(told, payload, project.project_id)[1]
    assert again | {"artifact_id": output["artifact_id"]} == output, "two scans can be compared, by their digest too"
    kept = artifact(told, output, project)
    assert (kept["counts"], kept["left_out"]) == (output["counts"], output["left_out"])
    assert [one | {"slots_left_out": 0} for one in kept["conflicts"]] == output["conflicts"]
    assert (kept["project_id"], kept["since"]) == (str(project.project_id), DAY["since"])
    later = {"since": "2026-03-04T00:00:00Z", "until": "2026-03-05T00:00:00Z"}
    assert run(told, ScanConflictsPayload(project_id=project.project_id, **later))[1]["conflicts"] == []


def test_a_scan_lists_two_hundred_and_keeps_all_that_it_read(told: ToldPeople) -> None:
    numbers = range(25)
    crowded = Plan(tuple(slot(one, 8, 10) for one in numbers), (person(1),), tuple(given(one, 1) for one in numbers))
    project = stored(told, crowded)
    _, output = run(told, ScanConflictsPayload(project_id=project.project_id, **DAY))
    assert (output["counts"]["overlap"], len(output["conflicts"]), output["left_out"]) == (300, 200, 100)
    kept = artifact(told, output, project)
    assert (len(kept["conflicts"]), kept["left_out"]) == (300, 0)


def test_a_scan_lists_ten_slots_of_a_conflict_and_keeps_them_all(told: ToldPeople) -> None:
    numbers = range(12)
    busy = Plan(
        tuple(slot(one, 8 + one, 9 + one) for one in numbers),
        (person(1, most_minutes_a_day=60),),
        tuple(given(one, 1) for one in numbers),
    )
    project = stored(told, busy)
    _, output = run(told, ScanConflictsPayload(project_id=project.project_id, **DAY))
    ids = [str(slot_id(one)) for one in numbers]
    assert [(one["kind"], one["slot_ids"], one["slots_left_out"]) for one in output["conflicts"]] == [
        ("hours", ids[:10], 2)
    ]
    assert [one["slot_ids"] for one in artifact(told, output, project)["conflicts"]] == [ids]


def test_a_project_that_is_not_the_jobs_or_the_orgs_fails_the_job(told: ToldPeople) -> None:
    project, other = stored(told, PLAN), make_project(told.database, told.org_id)
    state, error = run(told, ScanConflictsPayload(project_id=project.project_id, **DAY), other)
    assert (state, error["reason"]) == ("dead", "payload.project_id: is not the project of the job")
    for payload in (
        ScanConflictsPayload(project_id=uuid4(), **DAY),
        SuggestAssignmentsPayload(project_id=uuid4()),
        SuggestAssignmentsPayload(project_id=project.project_id, run_sheet_id=uuid4()),
    ):
        state, error = run(told, payload)
        assert (state, error["code"]) == ("failed", "gone"), payload


@pytest.mark.parametrize(
    ("weights", "field"),
    [({"travel": -1}, "weights.travel"), ({"coverage": 10**9}, "weights.coverage"), ({"luck": 1}, "weights.luck")],
)
def test_weights_are_refused_where_the_job_is_asked_for(weights: dict[str, int], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        SuggestAssignmentsPayload.accept({"project_id": str(uuid4()), "weights": weights}, 1)
    assert refused.value.field.startswith(f"payload.{field}")


def test_the_payload_knows_the_weights_by_their_names() -> None:
    assert set(get_args(WeightName)) == set(WEIGHT_MEANINGS)


def test_from_is_another_name_of_since_and_an_end_before_it_is_refused() -> None:
    asked = {"project_id": str(uuid4()), "from": DAY["since"], "until": DAY["until"]}
    assert ScanConflictsPayload.accept(asked, 1).payload["since"] == DAY["since"]
    with pytest.raises(Invalid) as refused:
        ScanConflictsPayload.accept({**asked, "until": DAY["since"]}, 1)
    assert refused.value.field == "payload.until"


def test_a_suggestion_is_proved_explained_and_writes_no_assignment(told: ToldPeople) -> None:
    project = stored(told, PLAN)
    first, *others = suggest(told, project, differ=1)
    assert (first["is_proved"], first["gap_percent"], first["open_places"]) == (True, 0, 0)
    assert [one["points"] for one in (first, *others)] == sorted(
        (one["points"] for one in (first, *others)), reverse=True
    )
    assert assigned(told) == []
    shown = proposals.show_proposal(caller(told), UUID(first["proposal_id"]))
    assert [(one["slot_id"], one["collaborator_id"]) for one in shown.choices] == [
        (slot_id(1), person_id(1)),
        (slot_id(2), person_id(2)),
        (slot_id(2), person_id(3)),
    ]
    reasons = {one["slot"]: one for one in shown.reasons["slots"]}
    forbidden = {one["collaborator"]: one["rule"] for one in reasons["slot 1"]["candidates"] if not one["is_chosen"]}
    assert forbidden == {"person 2": "skill", "person 3": "skill"}
    _, output = run(told, SuggestAssignmentsPayload(project_id=project.project_id, differ=1))
    kept = artifact(told, output, project)
    assert [one["total"] for one in kept["proposals"]] == [one["points"] for one in (first, *others)]
    assert kept["proposals"][0]["slots"] == shown.reasons["slots"]
    assert kept["weights"] == shown.weights
    again = output["proposals"]
    assert [one["points"] for one in again] == [one["points"] for one in (first, *others)]


def test_what_nobody_can_do_stays_open_with_the_reason(told: ToldPeople) -> None:
    plan = replace(PLAN, slots=(slot(1, 8, 12, skills=frozenset({"fireworks"})),))
    (only,) = suggest(told, stored(told, plan), alternatives=1)
    assert (only["open_places"], only["is_proved"]) == (1, True)
    (said,) = proposals.show_proposal(caller(told), UUID(only["proposal_id"])).reasons["slots"]
    assert said["why_open"] == "3 lack a skill"
    empty = make_project(told.database, told.org_id)
    state, output = run(told, SuggestAssignmentsPayload(project_id=empty))
    assert (state, output["proposals"], output["ended"]) == ("succeeded", [], "no_slots")


def test_all_candidates_stand_in_the_artifact_and_the_nearest_in_the_row(told: ToldPeople) -> None:
    crowd = tuple(person(number) for number in range(14))
    project = stored(told, Plan((slot(1, 8, 12),), crowd))
    _, output = run(told, SuggestAssignmentsPayload(project_id=project.project_id, alternatives=1))
    (proposal,) = output["proposals"]
    (short,) = proposals.show_proposal(caller(told), UUID(proposal["proposal_id"])).reasons["slots"]
    (whole,) = artifact(told, output, project)["proposals"][0]["slots"]
    assert [(len(one["candidates"]), one["others"]) for one in (short, whole)] == [(10, 4), (14, 0)]


def test_of_rules_that_pinned_people_break_the_first_are_named_and_all_are_counted(told: ToldPeople) -> None:
    numbers = range(25)
    slots = tuple(slot(number, 8, 12) for number in numbers)
    pinned = tuple(given(number, 1, is_pinned=True) for number in numbers)
    (only,) = suggest(told, stored(told, Plan(slots, (person(1),), pinned)), alternatives=1)
    assert only["kept_conflicts"] == 25 * 24 / 2
    shown = proposals.show_proposal(caller(told), UUID(only["proposal_id"])).reasons
    assert (len(shown["kept_conflicts"]), shown["kept_left_out"]) == (200, 100)


def test_a_cancel_while_plans_are_looked_for_leaves_no_proposal(told: ToldPeople) -> None:
    project = stored(told, small_plan(3))
    with told.process.database.ledger() as tx:
        payload = SuggestAssignmentsPayload(project_id=project.project_id)
        (made,) = enqueue(tx, payload, org_id=told.org_id, project_id=project.project_id)
    told.database.execute(
        "create function cancel_it() returns trigger language plpgsql security definer as"
        " $$ begin new.cancel_requested_at := now(); new.cancel_reason := 'not wanted'; return new; end $$"
    )
    told.database.execute(
        "create trigger cancel_it before update on jobs for each row when (new.progress is not null)"
        " execute function cancel_it()"
    )
    assert told.run(made.job_id) == "canceled"
    assert told.database.execute("select count(*) from proposals").fetchone() == (0,)
    assert told.database.execute("select count(*) from artifacts").fetchone() == (0,)


def test_without_the_solvers_package_a_suggestion_ends_and_names_the_extra(
    told: ToldPeople, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "providers.highs.solver", raising=False)
    monkeypatch.setitem(sys.modules, "highspy", None)
    state, error = run(told, SuggestAssignmentsPayload(project_id=stored(told, PLAN).project_id))
    assert (state, error["code"]) == ("failed", "extra.missing"), "it is not tried again"
    assert error["reason"].startswith("the package highspy of the extra planning is not installed here")


def test_applying_a_proposal_assigns_tells_and_raises_the_revision(told: ToldPeople) -> None:
    pinned = Assignment(slot_id(2), person_id(1), is_pinned=True)
    project = stored(told, replace(PLAN, assignments=(pinned, given(1, 2))))
    told.database.execute("update collaborators set user_id = %s where id = %s", (told.user_id, person_id(2)))
    first, *_ = suggest(told, project, alternatives=1)
    with pytest.raises(Forbidden):
        proposals.apply_proposal(caller(told, Role.WRITER), UUID(first["proposal_id"]))
    done = proposals.apply_proposal(caller(told), UUID(first["proposal_id"]))
    wanted = plans_choices(told, UUID(first["proposal_id"]))
    assert assigned(told) == wanted
    assert (slot_id(2), person_id(1)) in wanted, "what is pinned stays"
    assert done.assigned + done.unchanged == len(wanted)
    events = told.database.execute(
        "select event, data ->> 'revision', actor_id from audit_entries"
        " where event in ('run_sheet.changed', 'proposal.applied') order by id"
    ).fetchall()
    assert events == [("run_sheet.changed", "2", "ada"), ("proposal.applied", None, "ada")]
    (body,) = told.database.execute("select data ->> 'body' from notifications").fetchone() or ("",)
    assert "No longer: slot 1" in body
    with pytest.raises(Conflict, match="ada has applied it"):
        proposals.apply_proposal(caller(told), UUID(first["proposal_id"]))


def plans_choices(told: ToldPeople, proposal_id: UUID) -> list[tuple[UUID, UUID]]:
    with told.process.database.ledger() as tx:
        return [(one.slot_id, one.collaborator_id) for one in plans.proposal(tx, told.org_id, proposal_id).chosen]


NEW_ASSIGNMENT = (
    "insert into assignments (org_id, project_id, slot_id, collaborator_id, assigned_by)"
    " select org_id, project_id, %(slot)s, %(person)s, 'x' from slots limit 1"
)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("update slots set headcount = 3 where id = %(slot)s", "slot {slot} has changed"),
        ("delete from collaborator_skills", "collaborator {person} has changed"),
        ("update projects set zone = 'Asia/Tokyo'", "zone of the project has changed"),
        (NEW_ASSIGNMENT, "assignment of {person} in slot {slot} is new"),
    ],
)
def test_a_proposal_for_a_plan_that_has_changed_is_refused_with_the_difference(
    told: ToldPeople, change: str, line: str
) -> None:
    first, *_ = suggest(told, stored(told, PLAN), alternatives=1)
    names = {"slot": slot_id(2), "person": person_id(1)}
    told.database.execute(change.encode(), {key: one for key, one in names.items() if f"%({key})s" in change})
    before = assigned(told)
    with pytest.raises(Conflict, match=re.escape(line.format(**names))) as refused:
        proposals.apply_proposal(caller(told), UUID(first["proposal_id"]))
    assert refused.value.code == "proposal.outdated"
    assert assigned(told) == before


@pytest.mark.parametrize("letter", ["Ж", "\U0001f3aa"])
def test_a_change_of_many_long_names_is_told_in_short(told: ToldPeople, letter: str) -> None:
    """A notification holds 16,384 bytes: of more, nobody would be told."""
    slots = tuple(replace(slot(one, one, one + 1), name=letter * 200) for one in range(20))
    project = stored(told, Plan(slots, (person(1),)))
    told.database.execute("update collaborators set user_id = %s", (told.user_id,))
    editor = Editor(project, Origin(), lambda _facts: None)
    with told.process.database.ledger() as tx, run_sheets.changing(tx, editor, None):
        for one in slots:
            run_sheets.assign(tx, project.ref, (one.slot_id, person_id(1)), is_pinned=False, by="ada")
    ((body,),) = told.database.execute("select data ->> 'body' from notifications").fetchall()
    first, *_, last = body.splitlines()
    assert first.startswith(f"New: {letter * 200}, 2026-03-02 00:00")
    assert last == "and more, in the run sheet"


def one_person_in_two_projects(told: ToldPeople) -> list[dict[str, Any]]:
    """A proposal for each project; both want the same user at the same time."""
    of_each = [stored(told, Plan((slot(one, 8, 10),), (person(one),))) for one in (1, 2)]
    told.database.execute("update collaborators set user_id = %s", (told.user_id,))
    return [suggest(told, project, alternatives=1)[0] for project in of_each]


def one_person_in_two_sheets(told: ToldPeople) -> list[dict[str, Any]]:
    """A proposal for each run sheet of a project; both want the same person at the same time."""
    project = stored(told, Plan((slot(1, 8, 10),), (person(1),)))
    with told.process.database.ledger() as tx:
        saturday = run_sheets.add(tx, project.ref, "Saturday").run_sheet_id
        run_sheets.add_slot(tx, project.ref, saturday, slot(2, 9, 11))
        friday, *_ = (one.run_sheet_id for one in run_sheets.listed(tx, project.ref, limit=9) if one.name == "Friday")
    return [suggest(told, project, alternatives=1, run_sheet_id=one)[0] for one in (friday, saturday)]


@pytest.mark.parametrize("suggested", [one_person_in_two_projects, one_person_in_two_sheets])
def test_of_two_proposals_that_are_applied_at_once_the_later_is_outdated(
    told: ToldPeople, suggested: Callable[[ToldPeople], list[dict[str, Any]]]
) -> None:
    first, second = (UUID(one["proposal_id"]) for one in suggested(told))

    def apply_later() -> None:
        with patient(told.process.database.ledger()) as tx:
            proposals.apply_proposal(replace(caller(told), within=tx), second)

    waits = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as pool:
        with told.process.database.ledger() as tx:
            proposals.apply_proposal(replace(caller(told), within=tx), first)
            later = pool.submit(apply_later)
            eventually(
                lambda: later.done() or told.database.execute(waits).fetchone() is not None,
                describe="the later one waits, or has ended",
            )
        with pytest.raises(Conflict) as refused:
            later.result()
    assert refused.value.code == "proposal.outdated"
    assert assigned(told) == plans_choices(told, first)


def test_another_orgs_proposal_is_not_found(told: ToldPeople) -> None:
    first, *_ = suggest(told, stored(told, PLAN), alternatives=1)
    stranger = caller(told, org_id=make_org(told.database))
    for ask in (proposals.show_proposal, proposals.apply_proposal):
        with pytest.raises(Gone):
            ask(stranger, UUID(first["proposal_id"]))


def test_nothing_but_operations_of_planning_writes_assignments() -> None:
    """What is suggested is read by people; assignments alone are the truth."""
    writes = re.compile(r"(insert\s+into|update|delete\s+from|merge\s+into)\s+(public\.)?assignments\b", re.IGNORECASE)
    assert {name for name, text in statements().items() if writes.search(text)} == {"assign", "unassign"}
    functions = [path for path in (ROOT / "storage" / "functions").glob("*.sql") if writes.search(path.read_text())]
    assert functions == []
    named = {"assign", "unassign"}
    callers, inline = set[str](), set[str]()
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0]
        if room in {"tests", "tools", ".venv", "build"}:
            continue
        text = path.read_text()
        if writes.search(text):
            inline.add(str(path.relative_to(ROOT)))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr in named and ast.unparse(node.value) == "run_sheets":
                callers.add(str(path.relative_to(ROOT)))
    assert inline == set()
    assert callers == {"operations/planning/run_sheets.py", "operations/planning/proposals.py"}

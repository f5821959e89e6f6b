"""Writes a plan into the tables of a project, in a transaction of the ledger's."""

from collections.abc import Iterable, Mapping
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from domain.planning.model import Plan, Span
from domain.planning.travel import Place
from storage.planning import projects
from storage.planning.projects import Project
from storage.postgres.database import Transaction

Facts = Mapping[str, object]


def store_plan(tx: Transaction, org_id: UUID, plan: Plan) -> tuple[Project, UUID]:
    """Store all of a plan, its slots in one run sheet; returns the project and the sheet."""
    project, sheet = projects.add_project(tx, org_id, "a festival", plan.zone.key, plan.travel.speed_kmh), uuid4()
    _insert(tx, "places", project, (_place(plan, place) for place in plan.travel.places))
    people = [
        {
            "id": person.collaborator_id,
            "name": person.name,
            "home_id": person.home_id,
            "most_minutes_a_day": person.most_minutes_a_day,
            "most_minutes_a_week": person.most_minutes_a_week,
        }
        for person in plan.collaborators
    ]
    _insert(tx, "collaborators", project, people)
    owned = [(one, skill) for one in plan.collaborators for skill in sorted(one.skills)]
    skills = ({"collaborator_id": one.collaborator_id, "skill": skill} for one, skill in owned)
    _insert(tx, "collaborator_skills", project, skills)
    times = (
        {"id": uuid4(), "collaborator_id": one.collaborator_id, "kind": said.kind.value, "during": _range(said.span)}
        for one in plan.collaborators
        for said in one.availabilities
    )
    _insert(tx, "availabilities", project, ({**one, "source": "hand"} for one in times))
    _insert(tx, "run_sheets", project, [{"id": sheet, "name": "Friday", "revision": 1}])
    slots = (
        {
            "id": slot.slot_id,
            "run_sheet_id": sheet,
            "name": slot.name,
            "during": _range(slot.span),
            "place_id": slot.place_id,
            "skills": sorted(slot.skills),
            "headcount": slot.headcount,
            "priority": slot.priority,
        }
        for slot in plan.slots
    )
    _insert(tx, "slots", project, slots)
    given = ((one.slot_id, one.collaborator_id, one.is_pinned) for one in plan.assignments)
    _insert(tx, "assignments", project, (_assignment(*one) for one in given))
    _store_commitments(tx, org_id, plan)
    return project, sheet


def _store_commitments(tx: Transaction, org_id: UUID, plan: Plan) -> None:
    for number, busy in enumerate(plan.commitments):
        person = next(one for one in plan.collaborators if one.collaborator_id == busy.collaborator_id)
        user = f"insert into users (org_id, email) values (%(org)s, 'person-{number}@example.com') returning id"
        ((user_id,),) = tx.raw(user, {"org": org_id})
        tx.raw(
            "update collaborators set user_id = %(user)s where id = %(id)s",
            {"user": user_id, "id": person.collaborator_id},
        )
        _store_elsewhere(tx, org_id, plan, user_id, busy.span, busy.place_id)


def _store_elsewhere(
    tx: Transaction, org_id: UUID, plan: Plan, user_id: UUID, span: Span, place_id: UUID | None
) -> None:
    """The same user has a slot in another project."""
    other = projects.add_project(tx, org_id, "another", plan.zone.key, plan.travel.speed_kmh)
    spot, person, sheet, slot = uuid4(), uuid4(), uuid4(), uuid4()
    known = [place for place in plan.travel.places if place.place_id == place_id]
    _insert(tx, "places", other, ({**_place(plan, place), "id": spot, "minutes_to": {}} for place in known))
    _insert(tx, "collaborators", other, [{"id": person, "name": "elsewhere", "user_id": user_id}])
    _insert(tx, "run_sheets", other, [{"id": sheet, "name": "elsewhere", "revision": 1}])
    facts = {"skills": [], "headcount": 1, "priority": 1, "place_id": spot if known else None}
    during = {"id": slot, "run_sheet_id": sheet, "name": "elsewhere", "during": _range(span)}
    _insert(tx, "slots", other, [facts | during])
    _insert(tx, "assignments", other, [_assignment(slot, person, is_pinned=False)])


def _place(plan: Plan, place: Place) -> Facts:
    ways = {str(end): minutes for end, minutes in plan.travel.table.get(place.place_id, {}).items()}
    spot = {"latitude": place.latitude, "longitude": place.longitude}
    return {"id": place.place_id, "name": place.name or "somewhere", "minutes_to": ways, **spot}


def _assignment(slot_id: UUID, collaborator_id: UUID, is_pinned: bool) -> Facts:
    return {"slot_id": slot_id, "collaborator_id": collaborator_id, "is_pinned": is_pinned, "assigned_by": "test"}


def _insert(tx: Transaction, table: str, project: Project, rows: Iterable[Facts]) -> None:
    documents = [{"org_id": project.org_id, "project_id": project.project_id, **row} for row in rows]
    if not documents:
        return
    columns = ", ".join(documents[0])
    plain = [{name: str(one) if isinstance(one, UUID) else one for name, one in row.items()} for row in documents]
    tx.raw(
        f"insert into {table} ({columns})"
        f" select {columns} from jsonb_populate_recordset(null::{table}, %(rows)s::jsonb)",
        {"rows": Jsonb(plain)},
    )


def _range(span: Span) -> str:
    return f"[{span.starts_at.isoformat()},{span.ends_at.isoformat()})"

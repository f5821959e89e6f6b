"""Projects, and what stands in them whatever is planned: places, people, their skills and times."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.orgs.access.api_keys import Role
from domain.orgs.access.users import check_zone
from domain.planning.travel import MOST_KMH, MOST_MINUTES, SPEED_KMH, Place
from operations.call import Call
from operations.operation import WORDS, Area, Record, Route, changes_of
from operations.pages import Page, Window
from storage.planning import projects
from storage.planning.projects import ProjectRef
from storage.postgres.database import Transaction

PLANNING = Area(
    "planning",
    "Keep projects, people and run sheets; look at proposals, and apply one.",
    org="required",
    writes=Role.WRITER,
)

Name = Annotated[str, Field(pattern=WORDS, max_length=200, description="What people call it.")]
NewName = Annotated[str | None, Field(pattern=WORDS, max_length=200, description="What people call it from now on.")]
Skills = Annotated[
    list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,62}$")]] | None,
    Field(max_length=20, description="Such as sound; small letters, digits, _ . and -."),
]
Latitude = Annotated[float | None, Field(ge=-90, le=90, description="Degrees north.")]
Longitude = Annotated[float | None, Field(ge=-180, le=180, description="Degrees east.")]
Minutes = Annotated[
    dict[UUID, Annotated[int, Field(ge=0, le=MOST_MINUTES)]] | None,
    Field(max_length=1_000, description="Minutes from here to other places, by their ids; else the map counts."),
]
UserId = Annotated[UUID | None, Field(description="The user who is told, and who is one person in all projects.")]
HomeId = Annotated[UUID | None, Field(description="The place that the person comes from.")]
DayMinutes = Annotated[int | None, Field(ge=1, le=1440, description="The most minutes of a day.")]
WeekMinutes = Annotated[int | None, Field(ge=1, le=10080, description="The most minutes of a week, from Monday on.")]


class ProjectView(Record):
    """What is planned together."""

    plural: ClassVar = "projects"
    columns: ClassVar = ("project_id", "name", "zone", "created_at")
    project_id: UUID
    name: str
    zone: str = Field(description="By its clocks a slot counts in a day and in a week.")
    speed_kmh: int = Field(description="How fast people travel where no minutes are given.")
    created_at: datetime


class PlaceView(Record):
    """Where slots are."""

    plural: ClassVar = "places"
    columns: ClassVar = ("place_id", "name", "latitude", "longitude")
    place_id: UUID
    name: str
    latitude: float | None
    longitude: float | None
    minutes_to: dict[UUID, int]


class CollaboratorView(Record):
    """A person of a project."""

    plural: ClassVar = "collaborators"
    columns: ClassVar = ("collaborator_id", "name", "skills", "user_id")
    collaborator_id: UUID
    user_id: UUID | None
    name: str
    home_id: UUID | None
    most_minutes_a_day: int | None
    most_minutes_a_week: int | None
    skills: list[str]


@PLANNING.look("projects", Route("GET", "/projects"))
def list_projects(call: Call, window: Window) -> Page[ProjectView]:
    """List the projects of an org, the oldest first."""
    with call.reading() as tx:
        return window.records(tx, "list_projects", ProjectView, org_id=call.org)


@PLANNING.look("project", Route("GET", "/projects/{project_id}"))
def show_project(call: Call, project_id: UUID) -> ProjectView:
    """Show a project."""
    with call.reading() as tx:
        return ProjectView.model_validate(projects.project(tx, ProjectRef(call.org, project_id)))


@PLANNING.deed("add-project", Route("POST", "/projects", status=201), events=("project.added",), keyed=True)
def add_project(
    call: Call,
    *,
    name: Name,
    zone: Annotated[str, Field(max_length=100, description="Such as Europe/Berlin.")] = "UTC",
    speed_kmh: Annotated[int, Field(ge=1, le=MOST_KMH, description="How fast people travel.")] = SPEED_KMH,
) -> ProjectView:
    """Begin a project."""
    check_zone(zone)
    with call.writing() as tx:

        def make() -> list[UUID]:
            made = projects.add_project(tx, call.org, name, zone, speed_kmh)
            audit_of(tx, call, made.project_id, name=name)
            return [made.project_id]

        (project_id,) = call.once(tx, make)
        return ProjectView.model_validate(projects.project(tx, ProjectRef(call.org, project_id)))


@PLANNING.deed("set-project", Route("PATCH", "/projects/{project_id}"), events=("project.changed",))
def set_project(
    call: Call,
    project_id: UUID,
    *,
    name: NewName = None,
    zone: Annotated[str | None, Field(max_length=100, description="Such as Europe/Berlin.")] = None,
    speed_kmh: Annotated[int | None, Field(ge=1, le=MOST_KMH, description="How fast people travel.")] = None,
) -> ProjectView:
    """Change a project; what is not given stays."""
    if zone is not None:
        check_zone(zone)
    with call.writing() as tx:
        changes = {"name": name, "zone": zone, "speed_kmh": speed_kmh}
        changed = projects.change_project(tx, ProjectRef(call.org, project_id), **changes)
        audit_of(tx, call, project_id, **changes_of(**changes))
    return ProjectView.model_validate(changed)


@PLANNING.look("places", Route("GET", "/projects/{project_id}/places"))
def list_places(call: Call, window: Window, project_id: UUID) -> Page[PlaceView]:
    """List the places of a project, the oldest first."""
    with call.reading() as tx:
        return window.records(tx, "list_places", PlaceView, **ref_of(tx, call, project_id)._asdict())


@PLANNING.deed(
    "add-place", Route("POST", "/projects/{project_id}/places", status=201), events=("place.added",), keyed=True
)
def add_place(
    call: Call,
    project_id: UUID,
    *,
    name: Name,
    latitude: Latitude = None,
    longitude: Longitude = None,
    minutes_to: Minutes = None,
) -> PlaceView:
    """Add a place; without coordinates and minutes the way to it takes no time."""
    Place(UUID(int=0), name, latitude, longitude)
    facts = {"name": name, "latitude": latitude, "longitude": longitude, "minutes_to": minutes_to}
    with call.writing() as tx:

        def make() -> list[UUID]:
            made = projects.add_place(tx, ref_of(tx, call, project_id), **facts)
            audit_of(tx, call, project_id, place_id=str(made.place_id), name=name)
            return [made.place_id]

        (place_id,) = call.once(tx, make)
    return PlaceView.model_validate({**facts, "place_id": place_id, "minutes_to": minutes_to or {}})


@PLANNING.deed("set-place", Route("PATCH", "/projects/{project_id}/places/{place_id}"), events=("place.changed",))
def set_place(  # noqa: PLR0913 - the facts of a place
    call: Call,
    project_id: UUID,
    place_id: UUID,
    *,
    name: NewName = None,
    latitude: Latitude = None,
    longitude: Longitude = None,
    minutes_to: Minutes = None,
) -> PlaceView:
    """Change a place; what is not given stays, and given minutes replace all that were there."""
    Place(place_id, "", latitude, longitude)
    with call.writing() as tx:
        ref = ref_of(tx, call, project_id)
        facts = {"name": name, "latitude": latitude, "longitude": longitude, "minutes_to": minutes_to}
        changes_of(**facts)
        changed = projects.change_place(tx, ref, place_id, **facts)
        audit_of(tx, call, project_id, place_id=str(place_id), name=changed.name)
    return PlaceView.model_validate(changed)


@PLANNING.look("collaborators", Route("GET", "/projects/{project_id}/collaborators"))
def list_collaborators(call: Call, window: Window, project_id: UUID) -> Page[CollaboratorView]:
    """List the people of a project, the oldest first."""
    with call.reading() as tx:
        return window.records(tx, "list_collaborators", CollaboratorView, **ref_of(tx, call, project_id)._asdict())


@PLANNING.deed(
    "add-collaborator",
    Route("POST", "/projects/{project_id}/collaborators", status=201),
    events=("collaborator.added",),
    keyed=True,
)
def add_collaborator(  # noqa: PLR0913 - the facts of a person
    call: Call,
    project_id: UUID,
    *,
    name: Name,
    user_id: UserId = None,
    home_id: HomeId = None,
    most_minutes_a_day: DayMinutes = None,
    most_minutes_a_week: WeekMinutes = None,
    skills: Skills = None,
) -> CollaboratorView:
    """Add a person, who is available at any time unless something else is said."""
    facts = {
        "name": name,
        "user_id": user_id,
        "home_id": home_id,
        "most_minutes_a_day": most_minutes_a_day,
        "most_minutes_a_week": most_minutes_a_week,
    }
    with call.writing() as tx:

        def make() -> list[UUID]:
            made = projects.add_collaborator(tx, ref_of(tx, call, project_id), skills or [], **facts)
            audit_of(tx, call, project_id, collaborator_id=str(made.collaborator_id))
            return [made.collaborator_id]

        (collaborator_id,) = call.once(tx, make)
        ref = ProjectRef(call.org, project_id)
        return CollaboratorView.model_validate(projects.collaborator(tx, ref, collaborator_id))


@PLANNING.deed(
    "set-collaborator",
    Route("PATCH", "/projects/{project_id}/collaborators/{collaborator_id}"),
    events=("collaborator.changed",),
)
def set_collaborator(  # noqa: PLR0913 - the facts of a person
    call: Call,
    project_id: UUID,
    collaborator_id: UUID,
    *,
    name: NewName = None,
    user_id: UserId = None,
    home_id: HomeId = None,
    most_minutes_a_day: DayMinutes = None,
    most_minutes_a_week: WeekMinutes = None,
    skills: Skills = None,
) -> CollaboratorView:
    """Change a person; what is not given stays, and given skills replace all that were there."""
    with call.writing() as tx:
        ref = ref_of(tx, call, project_id)
        changed = projects.change_collaborator(
            tx,
            ref,
            collaborator_id,
            skills,
            name=name,
            user_id=user_id,
            home_id=home_id,
            most_minutes_a_day=most_minutes_a_day,
            most_minutes_a_week=most_minutes_a_week,
        )
        audit_of(tx, call, project_id, collaborator_id=str(collaborator_id))
    return CollaboratorView.model_validate(changed)


def audit_of(tx: Transaction, call: Call, project_id: UUID, *, event: str = "", **facts: object) -> None:
    """Write the deed's event about a project: jobs of other projects do not see it."""
    call.audit(tx, call.org, {"project_id": str(project_id), **facts}, event=event, project_id=project_id)


def ref_of(tx: Transaction, call: Call, project_id: UUID) -> ProjectRef:
    """A project of the caller's org; raises `Gone` for another one."""
    return projects.project(tx, ProjectRef(call.org, project_id)).ref

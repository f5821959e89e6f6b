"""Definitions of workflows: checked with all their faults, saved as versions, and looked at."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import PurePath
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from domain.documents.faults import RefusedDocument
from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from domain.jobs.job_request import fingerprint
from domain.orgs.access.api_keys import Role
from domain.payloads.workflows import WorkflowName
from domain.workflows.definition import Definition, definition_of
from domain.workflows.faults import Checked, Form, check, read
from operations.call import Call
from operations.operation import Area, File, Record, Route
from operations.pages import Page, Window
from storage.postgres.database import Transaction
from storage.workflows import definitions
from storage.workflows.definitions import StoredDefinition

WORKFLOWS = Area("workflows", "Save workflows, run them, and see how their runs stand.")
Version = Annotated[int | None, Field(ge=1, le=1_000_000, description="Without it, the latest.")]


class WorkflowView(Record):
    """A version of a workflow."""

    plural: ClassVar = "workflows"
    columns: ClassVar = ("name", "version", "saved_at", "saved_by")
    org_id: UUID
    name: str
    version: int
    saved_at: datetime
    saved_by: str


class DefinitionView(WorkflowView):
    """A version of a workflow, and what it says."""

    document: JsonObject


class SavedWorkflow(Record):
    """A version that holds the document."""

    org_id: UUID
    name: str
    version: int
    created: bool = Field(description="False when the same document was saved before; it is that version.")


class FaultView(BaseModel):
    """One fault of a definition."""

    model_config = ConfigDict(from_attributes=True)
    pointer: str = Field(description="JSON pointer of the value.")
    line: int | None = Field(description="In a YAML file, from 1.")
    column: int | None = Field(description="In a YAML file, from 1.")
    reason: str


class CheckedWorkflow(Record):
    """Whether a definition could be saved, and if not, all that is wrong with it."""

    valid: bool
    name: str | None = Field(description="Null for a definition that is not valid.")
    nodes: int
    faults: list[FaultView]


@WORKFLOWS.look("list", Route("GET", "/workflows/definitions"), org="required")
def list_workflows(call: Call, window: Window) -> Page[WorkflowView]:
    """List the latest version of each workflow of an org, by name."""
    with call.reading() as tx:
        return window.records(tx, "list_definitions", WorkflowView, org_id=call.org)


@WORKFLOWS.look("versions", Route("GET", "/workflows/definitions/{name}/versions"), org="required")
def list_workflow_versions(call: Call, name: WorkflowName, window: Window) -> Page[WorkflowView]:
    """List the versions of a workflow, the newest first."""
    with call.reading() as tx:
        return window.records(tx, "list_versions", WorkflowView, org_id=call.org, name=name)


@WORKFLOWS.look("definition", Route("GET", "/workflows/definitions/{name}"), org="required")
def read_workflow(call: Call, name: WorkflowName, *, version: Version = None) -> DefinitionView:
    """Show what a workflow says, so that it can be changed and saved again."""
    with call.reading() as tx:
        return DefinitionView.model_validate(found_definition(tx, call.org, name, version))


def validate_workflow(call: Call, document: object) -> CheckedWorkflow:
    """All that is wrong with a definition, each with its place; nothing is saved."""
    call.begin(Role.READER, (), is_audited=True, of_org=True)
    try:
        checked = _checked(call, document)
    except RefusedDocument as refused:
        faults = [FaultView.model_validate(one) for one in refused.faults]
        return CheckedWorkflow(valid=False, name=None, nodes=0, faults=faults)
    found = checked.definition
    return CheckedWorkflow(valid=True, name=found.name, nodes=len(found.nodes), faults=[])


@WORKFLOWS.deed(
    "save",
    Route("POST", "/workflows/definitions", document="WorkflowDocument"),
    role=Role.WRITER,
    org="required",
    events=("workflow.saved",),
)
def save_workflow(call: Call, document: object) -> SavedWorkflow:
    """Save a definition as the next version of its workflow; the same document is the same version.

    Runs that have begun keep to theirs. Refused with all that is wrong with it. The command reads YAML or JSON from a
    file, or from standard input for `-`.
    """
    checked = _checked(call, document)
    with call.writing() as tx:
        saved = definitions.save(tx, call.org, checked.document, fingerprint(checked.document), by=call.name)
        call.audit(tx, call.org, {"workflow": saved.name, "version": saved.version, "created": saved.created})
    return SavedWorkflow(org_id=call.org, name=saved.name, version=saved.version, created=saved.created)


def found_definition(tx: Transaction, org_id: UUID, name: str, version: int | None) -> StoredDefinition:
    """A version of a workflow, without a number the latest; raises `Gone` where the org has none."""
    found = definitions.get(tx, org_id, name, version)
    if found is None:
        raise Gone(f"there is no workflow {name}" + (f" in version {version}" if version else ""))
    return found


def _checked(call: Call, document: object) -> Checked:
    """The definition of a file or of a request; raises `RefusedDocument`."""
    with call.reading() as tx:
        find = _finder(tx, call.org)
        if isinstance(document, File):
            form = Form.JSON if PurePath(document.name).suffix.lower() == ".json" else Form.YAML
            return read(document.data, form, find, name=document.name)
        return check(document, find)


def _finder(tx: Transaction, org_id: UUID) -> Callable[[str], Definition | None]:
    """Finds the latest version of another workflow, each once."""

    @cache
    def find(name: str) -> Definition | None:
        stored = definitions.get(tx, org_id, name)
        return None if stored is None else definition_of(stored.document)

    return find

"""The payloads of the exports family: what leaves, and in which form."""

from typing import Literal
from uuid import UUID

from domain.jobs.uniqueness import while_active
from domain.payloads.declaration import ORG
from domain.payloads.file_fields import OwnZone
from domain.payloads.payload import Payload

ExportFormat = Literal["csv", "pdf"]
PaperName = Literal["a4", "us-letter", "a3"]
"""Those of `domain.planning.files.plan_paper.PAPERS`."""


MOST_AT_ONCE = 2
"""Exports of an org: a worker has three slots, and one stays for others."""


class ProjectPlanPayload(
    Payload, job_type="exports.project_plan", unique=while_active(), serial_by=ORG, serial_limit=MOST_AT_ONCE
):
    """The project, or one run sheet of it; a table or paper; by the clocks of which zone, else the project's."""

    project_id: UUID
    run_sheet_id: UUID | None = None
    format: ExportFormat
    zone: OwnZone = None
    paper: PaperName = "a4"

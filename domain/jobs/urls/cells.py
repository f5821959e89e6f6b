"""Other cells, as an operator names them and their gateways."""

from typing import Annotated

from pydantic import AfterValidator, Field

from domain.jobs.urls.by_name import ByName
from domain.jobs.urls.origins import origin_of


def _as_origins(cells: dict[str, str]) -> dict[str, str]:
    """Whoever is sent to another cell asks there for the same path; raises `ValueError` for what is no origin."""
    return {name: origin_of(url, may_be_plain_here=True) for name, url in cells.items()}


CellName = Annotated[str, Field(pattern="^[a-z0-9-]{0,40}$")]
CellGateways = Annotated[ByName[str], AfterValidator(_as_origins)]
"""The address of a cell's gateway by the cell's name."""

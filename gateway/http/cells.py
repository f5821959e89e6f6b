"""Sends on whoever asks here for an org that has moved to another cell (docs: cells.md#who-still-comes)."""

from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from fastapi import Request

from domain.jobs.failures import Transient
from domain.orgs.access.api_keys import prefix_of
from gateway.http.problems import RefusedPart
from gateway.http.resources import resources_of
from providers.rest_client import RestClient
from storage.orgs import moving

CODE = "org_moved"
PRESSED_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class OrgElsewhere:
    """An org that has left this cell."""

    org_id: UUID
    cell: str
    url: str | None
    """Of the gateway of its cell; None where the settings name none."""

    @property
    def gateway(self) -> str:
        """The same where nothing can be done without it; raises `Transient` where the settings name none."""
        if self.url is None:
            raise Transient(f"POSTROOM_CELLS does not name the cell {self.cell}", code="cells.unnamed")
        return self.url

    @property
    def words(self) -> str:
        """For whoever asks here."""
        return f"the org is in the cell {self.cell}{f': {self.url}' if self.url else ''}"


def elsewhere(request: Request, door: object) -> OrgElsewhere | None:
    """The org to which the key's prefix or the id belongs, if it has moved."""
    resources = resources_of(request)
    with resources.database.statements() as tx:
        found = moving.behind(tx, str(door))
    return found and OrgElsewhere(found.org_id, found.cell, resources.settings.cells.get(found.cell))


def send_on(request: Request, door: object) -> None:
    """Raise a redirect to the same path at the org's cell, if the org has moved; for browsers.

    It leads where the settings say, whatever the request names as its host.
    """
    found = elsewhere(request, door)
    if found is not None and found.url is not None:
        headers = {"Location": _same_path(request, found.url)}
        raise RefusedPart(HTTPStatus.PERMANENT_REDIRECT, CODE, found.words, headers)


def refuse_moved(request: Request, door: object) -> None:
    """Raise 421 that names the org's cell, if the org has moved; for programs, which would follow without their key."""
    found = elsewhere(request, door)
    if found is not None:
        raise RefusedPart(HTTPStatus.MISDIRECTED_REQUEST, CODE, found.words)


def refuse_moved_key(request: Request, text: str) -> None:
    """The same for whoever has a key of the org."""
    prefix = prefix_of(text)
    if prefix is not None:
        refuse_moved(request, prefix)


def press_there(request: Request, url: str, form: bytes) -> None:
    """Send a form on to the same path at another cell, for programs that follow no redirect.

    Raises `Transient` where that cell does not take it; then the program comes again.
    """
    client = RestClient("cell", timeout_s=PRESSED_WITHIN_S, meter=_unmetered)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.call("press", "POST", _same_path(request, url), headers=headers, body=form)
    if not answer.is_success:
        raise Transient(f"the other cell answers {answer.status}", code="cells.refused")


def _same_path(request: Request, url: str) -> str:
    return f"{url}{request.url.replace(scheme='', netloc='')}"


def _unmetered(_method: str, _units: int) -> None:
    """A person's press is counted where it came in."""

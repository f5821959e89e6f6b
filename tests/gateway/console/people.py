"""Operators of a test, and the browsers in which they sign in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any
from uuid import UUID

import httpx2
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from domain.orgs.access.operators import NEW_PASSWORD, PROVE, SIGN_IN, OperatorRole
from gateway.console.visitors import Signed, Writing
from operations.areas import areas
from operations.operation import Operation, checked
from operations.pages import Page, Window
from storage.orgs.access import operators
from storage.postgres.database import Database

PUBLIC = "https://mail.example.org"
COOKIE = "__Host-postroom"
PASSWORD = "quiet orange ladders"
OURS = {"Sec-Fetch-Site": "same-origin"}
OPERATIONS = {one.name: one for area in areas() for one in area.operations}


def add_operator(
    store: Database, email: str, role: OperatorRole = OperatorRole.ADMIN, org_ids: Sequence[UUID] | None = None
) -> str:
    """Add an operator; the secret of the one-time link."""
    with store.ledger() as tx:
        return operators.add(tx, email, role, org_ids, by="operator:test")[1]


@dataclass(frozen=True)
class Browser:
    """What a person sees and presses."""

    client: TestClient

    @property
    def cookie(self) -> str | None:
        return self.client.cookies.get(COOKIE)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.client.get(path, headers=headers)

    def post(self, path: str, form: Mapping[str, str], headers: Mapping[str, str] = OURS) -> httpx2.Response:
        return self.client.post(path, data=dict(form), headers=dict(headers))

    def use(self, link: str, password: str = PASSWORD) -> httpx2.Response:
        """Choose a password by a one-time link, and be signed in."""
        return self.post(NEW_PASSWORD, {"link": link, "password": password})

    def sign_in(self, email: str, password: str = PASSWORD, **more: str) -> httpx2.Response:
        return self.post(SIGN_IN, {"email": email, "password": password, **more})

    def prove(self, password: str = PASSWORD, **more: str) -> httpx2.Response:
        return self.post(PROVE, {"token": self.token, "password": password, **more})

    @property
    def token(self) -> str:
        """What the forms of the session carry."""
        found = re.search(r'name="token" value="([^"]+)"', self.get(PROVE).text)
        assert found is not None
        return unescape(found[1])

    def do(
        self,
        name: str,
        /,
        org: UUID | None = None,
        *,
        values: bool = False,
        **parameters: Any,  # noqa: ANN401 - as declared
    ) -> httpx2.Response:
        """Call an operation in the name of whoever has signed in."""
        query = {"values": str(values)} | ({} if org is None else {"org": str(org)})
        return self.client.post(f"/console/test/{name}", params=query, json=parameters, headers=OURS)


def add_pages(app: FastAPI) -> None:
    """Pages of the test, as those of the console take their visitors; before the routes that take any name."""

    def who(visitor: Signed) -> dict[str, str]:
        return {"email": visitor.email, "role": visitor.role.value}

    def write(visitor: Writing) -> dict[str, str]:
        return {"email": visitor.email}

    def call(
        name: str,
        request: Request,
        visitor: Signed,
        body: dict[str, Any],
        org: UUID | None = None,
        values: str = "False",
    ) -> object:
        operation: Operation[..., Any] = OPERATIONS[name]
        window = {"window": Window(50)} if operation.is_paged else {}
        made = visitor.call(request, org, shows_values=values == "True")
        answer = operation(made, **window, **checked(operation.parameters, body))
        return [one.model_dump(mode="json") for one in answer.items] if isinstance(answer, Page) else answer

    def orgs_of_users(request: Request, visitor: Signed) -> list[str]:
        with visitor.call(request, None).reading() as tx:
            return sorted({str(row.org_id) for row in tx.raw("select org_id from users")})

    app.add_api_route("/console/orgs-of-users", orgs_of_users, methods=["GET"])
    app.add_api_route("/console/who", who, methods=["GET"])
    app.add_api_route("/console/write", write, methods=["POST"])
    app.add_api_route("/console/test/{name}", call, methods=["POST"], response_model=None)
    app.router.routes[:] = [*app.router.routes[-4:], *app.router.routes[:-4]]

"""A browser that asks a serving gateway, in which an operator has signed in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID, uuid4

from domain.orgs.access.operators import OperatorRole
from storage.orgs.access import operators
from storage.postgres.database import Database
from tests.gateway.serving import HttpAnswer, ask

HASH = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA"
TOKEN = re.compile(rb'name="token" value="([0-9a-f]+)"')


@dataclass(frozen=True)
class SignedBrowser:
    """A browser in which an operator has signed in; it follows no redirect by itself."""

    url: str
    cookie: str

    def get(self, path: str = "") -> HttpAnswer:
        return ask(f"{self.url}/console{path}", headers={"Cookie": self.cookie})

    def text(self, path: str = "", status: int = 200) -> str:
        answer = self.get(path)
        assert answer.status == status, answer.body[-2000:]
        return answer.body.decode()

    def token(self) -> str:
        found = TOKEN.search(self.get().body)
        assert found is not None
        return found[1].decode()

    def post(self, path: str, fields: Mapping[str, object], cookie: str | None = None) -> HttpAnswer:
        form = urlencode({"token": self.token(), **fields}, errors="surrogatepass").encode()
        headers = {
            "Cookie": cookie or self.cookie,
            "Content-Type": "application/x-www-form-urlencoded",
            "Sec-Fetch-Site": "same-origin",
        }
        return ask(f"{self.url}/console{path}", form, headers)


def signed_cookie(store: Database, role: OperatorRole, *org_ids: UUID) -> str:
    """The cookie of a new operator's session."""
    with store.ledger() as tx:
        operator_id, link = operators.add(
            tx, f"{uuid4().hex[:8]}@example.org", role, org_ids or None, by="operator:test"
        )
        assert operators.use_link(tx, link, HASH) == operator_id
        secret = operators.begin_session(tx, operator_id, HASH)
    return f"postroom={secret}"

"""An owner's browser between the gateway and Google's screen: it keeps cookies and follows nothing by itself."""

import http.client
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import parse_qs, urlencode, urlsplit

from sandbox.google.consenting import consent

PUBLIC = "https://mail.example.org"
CALLBACK = f"{PUBLIC}/oauth/google/callback"


@dataclass(frozen=True)
class Page:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def title(self) -> str:
        found = re.search(r"<h1>(.*?)</h1>", self.text)
        assert found is not None, self.text
        return found[1]

    @property
    def location(self) -> str:
        return self.headers["location"]


@dataclass
class Browser:
    """What stands at the gateway's public address is asked for where the gateway really listens."""

    gateway: str
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, address: str) -> Page:
        return self._ask("GET", address, None, {})

    def press(self, link: str, headers: Mapping[str, str] | None = None) -> Page:
        """Press the button of the page that a link opens."""
        secret = parse_qs(urlsplit(link).query)["link"][0]
        return self._ask("POST", f"{PUBLIC}/oauth/google/start", urlencode({"link": secret}), headers or {})

    def connect(self, link: str, **decision: object) -> Page:
        """Go the whole way: our page, Google's screen, and back."""
        return self.get(self.return_address(link, **decision))

    def return_address(self, link: str, **decision: object) -> str:
        """Where Google sends the browser after its person's decision."""
        return consent(self.press(link).location, **decision)  # type: ignore[arg-type]  # as `consent` takes it

    def _ask(self, method: str, address: str, body: str | None, headers: Mapping[str, str]) -> Page:
        assert address.startswith(PUBLIC), address
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} | dict(headers)
        if body is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(urlsplit(self.gateway).netloc, timeout=30)
        try:
            connection.request(method, address.removeprefix(PUBLIC), body, sent)
            answer = connection.getresponse()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    self.cookies |= {key: morsel.value for key, morsel in SimpleCookie(value).items()}
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Page(answer.status, found, answer.read().decode())
        finally:
            connection.close()

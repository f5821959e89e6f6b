"""A person at Google's consent screen, as a browser without JavaScript would go through it."""

import urllib.error
import urllib.request
from collections.abc import Collection
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin


class ScreenRefused(Exception):
    """Google shows an error of its own and sends nobody back; the message is the page."""


class _Form(HTMLParser):
    """The first form of a page: where it goes, its fields and its boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.boxes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given.get("action", "")
        elif tag == "input" and given.get("type") == "checkbox":
            self.boxes.append(given["value"])
        elif tag == "input":
            self.fields[given["name"]] = given.get("value", "")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: object, **_options: object) -> None:
        """Stay: the address to which the browser is sent is the answer."""


def consent(
    url: str, email: str | None = None, *, untick: Collection[str] = (), deny: bool = False, timeout_s: float = 10.0
) -> str:
    """Open the screen, sign in as `email` (by default as whom it proposes) and decide; returns where it sends one.

    Raises `ScreenRefused` when Google shows an error instead.
    """
    with _open(urllib.request.Request(url), timeout_s) as answer:  # noqa: S310 - the emulator's own address
        form = _Form()
        form.feed(answer.read().decode())
    fields = list((form.fields | ({"account": email} if email else {})).items())
    fields += [("granted", box) for box in form.boxes if box not in untick]
    fields.append(("decision", "deny" if deny else "allow"))
    request = urllib.request.Request(urljoin(url, form.action), urlencode(fields).encode())  # noqa: S310 - as above
    with _open(request, timeout_s) as answer:
        location = answer.headers.get("Location")
    if location is None:
        raise ScreenRefused("the screen sent nobody back")
    return str(location)


def _open(request: urllib.request.Request, timeout_s: float) -> urllib.error.HTTPError:
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        return opener.open(request, timeout=timeout_s)  # type: ignore[no-any-return]  # typeshed says it may be anything
    except urllib.error.HTTPError as error:
        if error.code in {302, 303}:
            return error
        with error:
            raise ScreenRefused(f"{error.code}: {error.read().decode()}") from error

"""Whether two URLs name one broker: Celery may find a URL besides the one in the fleet's settings."""

from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from domain.jobs.urls.broker_urls import REDIS, checked_broker_url

PORTS = {"redis": 6379, "rediss": 6379, "amqp": 5672, "amqps": 5671}
SPOKEN = {"pyamqp": "amqp"}

REMEDY = (
    "set POSTROOM_BROKER_URL alone, and leave out -b, BROKER_URL,"
    " CELERY_BROKER, CELERY_BROKER_URL, CELERY_BROKER_READ_URL and CELERY_BROKER_WRITE_URL"
)
"""The others are where Celery finds a URL before it looks into our settings."""


def trouble_with_broker(given: str, own: str) -> str | None:
    """Why a process may not go by the URL that Celery found, `own` being the settings'; None when it may.

    `REMEDY` is the same for all. The words hold neither URL, because any part of a URL may be a password.
    """
    if given == own:
        return None
    try:
        checked_broker_url(SecretStr(given))
    except ValueError as error:
        return f"the broker's URL that Celery was given cannot be used: {error}"
    if _place(given) == _place(own):
        return None
    return (
        "Celery was given another broker than POSTROOM_BROKER_URL:"
        " a process would take messages from one and send them to the other"
    )


def _place(url: str) -> tuple[str, str | None, int, str]:
    """How a broker is spoken to, where, and which of its databases or virtual hosts; who logs in does not matter."""
    parts = urlsplit(url)
    scheme = SPOKEN.get(parts.scheme, parts.scheme)
    database, virtual_host = parts.path.strip("/").lstrip("0") or "0", unquote(parts.path[1:]) or "/"
    return scheme, parts.hostname, parts.port or PORTS[scheme], database if scheme in REDIS else virtual_host

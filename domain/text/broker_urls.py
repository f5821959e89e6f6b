"""What the URLs of the broker, and of the Redis that counts calls, may say.

kombu and redis-py both read it, each in its own way, and find a mistake only when they connect: that is too late for a
command that has committed already, and its error may hold the password.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, SecretStr

REDIS = ("redis", "rediss")
RABBITMQ = ("amqp", "amqps", "pyamqp")
SECURE = ("rediss", "amqps")

TLS = {
    "ssl_cert_reqs": ("required", "optional", "none"),
    "ssl_check_hostname": ("true", "false"),
    "ssl_ca_certs": (),
    "ssl_certfile": (),
    "ssl_keyfile": (),
}
"""Options and what each may say; without values, any file. kombu takes CERT_NONE for `none` too, and redis-py 0 for
`false`: the other one understands something else or nothing."""
LOGIN = {"login_method": ("PLAIN", "AMQPLAIN", "EXTERNAL")}
"""How a client logs in at RabbitMQ: EXTERNAL is by its certificate."""


def checked_broker_url(url: SecretStr) -> SecretStr:
    """The same URL; raises `ValueError` that says what is wrong with it, without the URL or a part of its password."""
    return _checked(url, (*REDIS, *RABBITMQ))


def checked_limits_url(url: SecretStr | None) -> SecretStr | None:
    """The same of a Redis, if there is one; one on this machine, by `unix://`, is taken as it stands."""
    if url is None or url.get_secret_value().lower().startswith("unix://"):
        return url
    return _checked(url, REDIS)


BrokerUrl = Annotated[SecretStr, AfterValidator(checked_broker_url)]
LimitsUrl = Annotated[SecretStr | None, AfterValidator(checked_limits_url)]


def _checked(url: SecretStr, schemes: Sequence[str]) -> SecretStr:
    for problem in _problems(url.get_secret_value(), schemes):
        raise ValueError(problem)
    return url


def _problems(url: str, schemes: Sequence[str]) -> Iterator[str]:
    if ";" in url:
        # Of several, kombu would go to the next one by a transport that checks no certificate.
        yield "must name one broker, so without a semicolon; one in a password is written %3B"
        return
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port  # one that is no number raises
    except ValueError:
        yield "its host or port cannot be read; in a name or password / is written %2F, ? %3F and # %23"
        return
    scheme = parts.scheme
    if scheme not in schemes or not url.lower().startswith(f"{scheme}://"):
        yield f"must begin with one of {', '.join(f'{each}://' for each in schemes)}"
    elif parts.fragment or ("@" not in parts.netloc and "@" in parts.path + parts.query):
        yield "stops being a URL in its name or password: / is written %2F there, ? %3F and # %23"
    elif not host:
        yield "names no host"
    elif scheme in REDIS and not (parts.path.strip("/") or "0").isdecimal():
        yield "must end with the number of a database, as redis://host:6379/0"
    else:
        yield from _wrong_options(scheme, dict(parse_qsl(parts.query, keep_blank_values=True)))


def _wrong_options(scheme: str, options: dict[str, str]) -> Iterator[str]:
    known = (TLS if scheme in SECURE else {}) | (LOGIN if scheme in RABBITMQ else {})
    for name, value in options.items():
        if name not in known:
            yield _unknown(name, known)
        elif not value:
            yield f"{name} is empty"
        elif known[name] and value not in known[name]:
            yield f"{name} must be one of {', '.join(known[name])}"
    if "ssl_keyfile" in options and "ssl_certfile" not in options:
        yield "ssl_keyfile needs ssl_certfile, the certificate of that key"


def _unknown(name: str, known: Iterable[str]) -> str:
    if name in TLS:
        return f"{name} is for rediss:// and amqps://, which are spoken over TLS"
    # What nobody knows is not named: it may be the end of a password.
    return f"has an option that is not known here; what may stand there: {', '.join(known) or 'nothing'}"

"""What the URLs of the broker, of the Redis that counts calls and of the one for results may say, and names of queues.

kombu and redis-py both read them, each in its own way, and find a mistake only when they connect: that is too late for
a command that has committed already, and the error may hold the password.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pydantic import AfterValidator, SecretStr

from domain.jobs.urls.origins import with_lower_scheme

REDIS = ("redis", "rediss")
SOCKET = ("unix",)
RABBITMQ = ("amqp", "amqps", "pyamqp")
SECURE = ("rediss", "amqps")

Options = Mapping[str, tuple[str, ...]]
"""What each may say; without values, anything but nothing."""

TLS: Options = {
    "ssl_cert_reqs": ("required", "optional", "none"),
    "ssl_check_hostname": ("true", "false"),
    "ssl_ca_certs": (),
    "ssl_certfile": (),
    "ssl_keyfile": (),
}
"""kombu takes CERT_NONE for `none` too, and redis-py 0 for `false`: the other one understands something else or
nothing."""
LOGIN: Options = {"login_method": ("PLAIN", "AMQPLAIN", "EXTERNAL")}
"""How a client logs in at RabbitMQ: EXTERNAL is by its certificate."""
OF_SOCKET: Options = {"db": ()}

BLANK = re.compile(r"\s")
HOST = re.compile(r"[\w.-]+")
NUMBER = re.compile("[0-9]+")
PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,59}")
"""Of a queue's name: no comma, which stands between the queues of `worker -Q`, and nothing that Redis Cluster reads."""
DATABASE = re.compile(f"/?|/{NUMBER.pattern}")
"""The path to a database of Redis. kombu takes no other; redis-py and limits take some, each another one."""


def is_redis(url: str) -> bool:
    """Whether a URL of the settings is of a Redis or Valkey over a network."""
    return _scheme(url) in REDIS


def is_rabbitmq(url: str) -> bool:
    """Whether a URL of the settings is of a RabbitMQ."""
    return _scheme(url) in RABBITMQ


def checked_broker_url(url: SecretStr) -> SecretStr:
    """The same URL with its scheme in lower case.

    Raises `ValueError` that says what is wrong with the URL, without the URL or a part of its password.
    """
    return _checked(url, (*REDIS, *RABBITMQ))


def checked_limits_url(url: SecretStr | None) -> SecretStr | None:
    """The same of a Redis, if there is one; it may be on this machine, by `unix://`."""
    return None if url is None else _checked(url, (*REDIS, *SOCKET))


def checked_results_url(url: SecretStr) -> SecretStr:
    """The same of a Redis where results go; they may go nowhere."""
    return _checked(url, (*REDIS, *SOCKET)) if url.get_secret_value() else url


def checked_prefix(prefix: str) -> str:
    """A prefix for names of queues that each broker and each command line takes; raises `ValueError`."""
    if prefix and not PREFIX.fullmatch(prefix):
        raise ValueError("must be at most 60 letters, digits and . _ : -, and begin with a letter or a digit")
    if prefix.startswith("amq."):
        raise ValueError("must not begin with amq., which RabbitMQ keeps for itself")
    if prefix.endswith("q:"):
        raise ValueError("must not end with q:, which stands in names of queues that every fleet reads")
    return prefix


QueuePrefix = Annotated[str, AfterValidator(checked_prefix)]
BrokerUrl = Annotated[SecretStr, AfterValidator(checked_broker_url)]
LimitsUrl = Annotated[SecretStr | None, AfterValidator(checked_limits_url)]
ResultsUrl = Annotated[SecretStr, AfterValidator(checked_results_url)]


def _scheme(url: str) -> str:
    return url.partition("://")[0].lower()


def _checked(url: SecretStr, schemes: Sequence[str]) -> SecretStr:
    for problem in _problems(url.get_secret_value(), schemes):
        raise ValueError(problem)
    return SecretStr(with_lower_scheme(url.get_secret_value()))


def _problems(url: str, schemes: Sequence[str]) -> Iterator[str]:
    if unreadable := _unreadable(url):
        yield unreadable
        return
    parts = urlsplit(url)
    scheme = parts.scheme
    if scheme not in schemes or not url.lower().startswith(f"{scheme}://"):
        yield f"must begin with one of {', '.join(f'{each}://' for each in schemes)}"
    elif parts.fragment or ("@" not in parts.netloc and "@" in parts.path + parts.query):
        yield "stops being a URL in its name or password: / is written %2F there, ? %3F and # %23"
    elif scheme in SOCKET:
        yield from _wrong_socket(parts)
    elif not parts.hostname:
        yield "names no host"
    elif not _is_host(parts.hostname) or parts.port == 0:
        yield "names a host or port that there cannot be"
    elif scheme in REDIS and not DATABASE.fullmatch(parts.path):
        yield "must end with the number of a database, as redis://host:6379/0"
    else:
        known = {**(TLS if scheme in SECURE else {}), **(LOGIN if scheme in RABBITMQ else {})}
        yield from _wrong_options(parts, known)


def _unreadable(url: str) -> str | None:
    """Why the parts of a URL cannot be told from each other; None where they can."""
    if ";" in url:
        # Of several, kombu would go to the next one by a transport that checks no certificate.
        return "must name one server, so without a semicolon; one in a password is written %3B"
    if BLANK.search(url):
        # Python's parser takes some of them out, and the libraries do not.
        return "carries a blank or a line end; a blank in a password is written %20"
    try:
        _ = urlsplit(url).port  # one that is no number raises
    except ValueError:
        return "its host or port cannot be read; in a name or password / is written %2F, ? %3F and # %23"
    return None


def _is_host(host: str) -> bool:
    """Whether it can be looked up: a name whose parts DNS takes, or an address."""
    if ":" in host:  # IPv6; `urlsplit` has read it
        return True
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return HOST.fullmatch(host) is not None


def _wrong_socket(parts: SplitResult) -> Iterator[str]:
    if parts.netloc.rpartition("@")[2] or not parts.path.strip("/"):
        yield "must name a socket of this machine by its whole path, as unix:///run/valkey.sock"
        return
    yield from _wrong_options(parts, OF_SOCKET)
    if not all(NUMBER.fullmatch(value) for _, value in parse_qsl(parts.query)):
        yield "db must be the number of a database"


def _wrong_options(parts: SplitResult, known: Options) -> Iterator[str]:
    said = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(said)
    for name, value in said:
        if name not in known:
            yield _unknown(name, known)
        elif not value:
            yield f"{name} is empty"
        elif known[name] and value not in known[name]:
            yield f"{name} must be one of {', '.join(known[name])}"
        elif [each for each, _ in said].count(name) > 1:
            # kombu takes the last, redis-py the first.
            yield f"{name} stands there twice"
    if "ssl_keyfile" in options and "ssl_certfile" not in options:
        yield "ssl_keyfile needs ssl_certfile, the certificate of that key"
    if options.get("login_method") == "EXTERNAL" and "ssl_certfile" not in options:
        yield "login_method=EXTERNAL needs amqps:// and ssl_certfile, the certificate by which to log in"


def _unknown(name: str, known: Iterable[str]) -> str:
    if name in TLS:
        return f"{name} is for rediss:// and amqps://, which are spoken over TLS"
    # What nobody knows is not named: it may be the end of a password.
    return f"has an option that is not known here; what may stand there: {', '.join(known) or 'nothing'}"

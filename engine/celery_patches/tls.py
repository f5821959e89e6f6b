"""What a connection over TLS is told: our transports of `rediss://` and `amqps://` never speak in plaintext.

kombu turns TLS on for a transport that is literally named `rediss`, and for no other. It then checks no certificate,
and of one for AMQP it does not look at the name. Here certificates are checked, names too; `ssl_cert_reqs=none` in the
broker's URL is how an operator does without.
"""

from ssl import CERT_NONE, CERT_REQUIRED
from typing import Any

CHECK = "ssl_cert_reqs"
CHECK_NAME = "ssl_check_hostname"

AMQP_NAMES = {
    CHECK: "cert_reqs",
    "ssl_ca_certs": "ca_certs",
    "ssl_certfile": "certfile",
    "ssl_keyfile": "keyfile",
}
"""What py-amqp calls the options that kombu reads from a URL; it refuses them by kombu's names."""


def redis_options(given: object) -> dict[str, Any]:
    """What redis-py is told: what the URL or the caller says, else that the certificate is checked.

    Never empty, for kombu takes that for no TLS at all; so it does with True.
    """
    said: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    return {CHECK: CERT_REQUIRED} | said


class SecureTransport:
    """What makes a transport for Redis one over TLS, whatever it is named."""

    def __init__(self, client: Any, **options: Any) -> None:  # noqa: ANN401 - kombu's signature
        """Turn TLS on before the transport looks at its options."""
        client.ssl = redis_options(client.ssl)
        super().__init__(client, **options)  # type: ignore[call-arg] # of kombu's transport, which comes next


def amqp_options(given: object, hostname: str | None) -> dict[str, Any]:
    """The same for py-amqp, which checks the certificate's name only when it is told the host's.

    A copy of a connection brings what was made here for the first.
    """
    if isinstance(given, dict) and "cert_reqs" in given:
        return given
    said = redis_options(given)
    checks_name = said.pop(CHECK_NAME, True)
    made = {AMQP_NAMES.get(name, name): value for name, value in said.items()}
    if checks_name and made["cert_reqs"] != CERT_NONE:
        made.setdefault("server_hostname", hostname)
    return made

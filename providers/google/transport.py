"""How Google's packages send: their calls go out by our connections, once, and what only reads is asked once more.

httplib2 sends a request again when the server closes the connection before it answers, POSTs too, so one call may send
two mails and report one success. No request goes through it.
"""

from collections.abc import Mapping

import httplib2

from observability.job_spans import call_span
from providers.connections import CONNECTIONS, AnswerLost, Exchanged
from providers.ports.time_limit import TimeLimit

REPEATABLE = frozenset({"GET", "HEAD"})

LONGEST_ANSWER = 128 * 1024 * 1024
"""Bytes of an answer that are read; a message of the largest size, written in base64 in JSON, is shorter."""


class NoReplayHttp:
    """Has the form of an `httplib2.Http`; never sends a change twice, follows a redirect or refreshes a token.

    `timeout_s` bounds each request in all, repetitions too, and `longest` the bytes of an answer. `access_token` is
    sent as it is: google-auth's own transport would refresh it on a 401 and start look-ups of its own in the
    background.
    """

    def __init__(self, *, timeout_s: float, access_token: str | None = None, longest: int = LONGEST_ANSWER) -> None:
        """Keep the token for the `Authorization` header of every request."""
        self._token = {} if access_token is None else {"authorization": f"Bearer {access_token}"}
        self._limit = TimeLimit()
        self._limit_s = timeout_s
        self._longest = longest

    def request(
        self,
        uri: str,
        method: str = "GET",
        body: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[httplib2.Response, bytes]:
        """One request; raises as `Connections.exchange`."""
        sent = {**(headers or {}), "accept-encoding": "gzip", **self._token}
        content = body.encode() if isinstance(body, str) else body
        self._limit.begin(self._limit_s)
        with call_span("google", method, uri) as traced:
            try:
                answer = self._exchange(method, uri, sent, content)
            except AnswerLost:
                if method not in REPEATABLE:
                    raise
                answer = self._exchange(method, uri, sent, content)
            traced.note({"http.response.status_code": answer.status})
        return httplib2.Response({**answer.headers, "status": str(answer.status)}), answer.body

    def _exchange(self, method: str, uri: str, headers: Mapping[str, str], body: bytes | None) -> Exchanged:
        return CONNECTIONS.exchange(method, uri, headers, body, limit=self._limit, longest=self._longest)

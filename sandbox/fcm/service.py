"""FCM's `messages:send`: each call sends; FCM's own words for devices that are gone and requests that are wrong."""

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route

PROJECT = "postroom-example"
CLIENT_EMAIL = f"sender@{PROJECT}.iam.gserviceaccount.com"
LARGEST_MESSAGE = 4096
TOKEN_LASTS_S = 3600
STATUSES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
ERROR_TYPE = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
KNOWN = frozenset({"token", "notification", "data", "android", "apns", "webpush", "fcm_options"})


@cache
def key_pair() -> tuple[str, str]:
    """The service account's private key and the certificate's public key, as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


def service_account() -> str:
    """The key file of the emulator's one service account."""
    return json.dumps(
        {
            "type": "service_account",
            "project_id": PROJECT,
            "client_email": CLIENT_EMAIL,
            "private_key": key_pair()[0],
        }
    )


class FcmService:
    """One project with one service account; any device's token is good until it is set otherwise."""

    def __init__(self) -> None:
        """Begin without messages."""
        self.clock = EmulatorClock()
        self.messages: list[Json] = []
        self.devices: dict[str, str] = {}
        """By a device's token: `gone`, `malformed`, `other_sender`."""
        self.is_revoked = False
        self._tokens: dict[str, float] = {}
        self._lock = Lock()
        self.routes: Sequence[Route] = (
            Route("POST", "/token", "oauth.token", self.give_token),
            Route("POST", "/v1/projects/{project}/messages:send", "messages.send", self.send),
        )

    def identify(self, call: Call) -> str | None:
        """The project, by an access token of its service account."""
        if call.path == "/token":
            return None
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or self._tokens.get(token, 0.0) <= self.clock.now():
            raise ApiFailure(401, "", "Request had invalid authentication credentials.")
        if call.parameters["project"] != PROJECT:
            raise ApiFailure(403, "", "Permission denied on the project")
        return PROJECT

    @contextmanager
    def admit(self, call: Call) -> Iterator[None]:  # noqa: ARG002 - the frame's signature
        """No limit but those that are ordered."""
        yield

    def render(self, call: Call, failure: ApiFailure) -> Answer:
        """Google's error; FCM's own word is among the details."""
        if call.path == "/token":
            return Answer(failure.status, {"error": failure.reason, "error_description": failure.message})
        error: Json = {
            "code": failure.status,
            "message": failure.message,
            "status": STATUSES.get(failure.status, "UNKNOWN"),
        }
        if failure.reason:
            error["details"] = [{"@type": ERROR_TYPE, "errorCode": failure.reason}]
        return Answer(failure.status, {"error": error}, failure.headers)

    def give_token(self, call: Call) -> Answer:
        """A token for an assertion that the service account has signed."""
        form = {name: values[0] for name, values in parse_qs(call.body.decode()).items()}
        try:
            claims = jwt.decode(  # type: ignore[no-untyped-call] # the package ships none
                form.get("assertion", ""), certs=key_pair()[1], clock_skew_in_seconds=10
            )
        except ValueError as error:
            raise ApiFailure(400, "invalid_grant", f"Invalid JWT: {error}") from error
        if claims.get("iss") != CLIENT_EMAIL or self.is_revoked:
            raise ApiFailure(400, "invalid_grant", "Invalid grant: account not found")
        token = secrets.token_urlsafe(24)
        self._tokens[token] = self.clock.now() + TOKEN_LASTS_S
        return Answer(body={"access_token": token, "expires_in": TOKEN_LASTS_S, "token_type": "Bearer"})

    def send(self, call: Call) -> Answer:
        """`POST …/messages:send`: a message more on the device, or in the place of the one with the same tag."""
        request = call.json()
        message = request.get("message")
        if set(request) != {"message"} or not isinstance(message, dict) or not set(message) <= KNOWN:
            raise ApiFailure(400, "INVALID_ARGUMENT", "Invalid JSON payload received.")
        if len(call.body) > LARGEST_MESSAGE:
            raise ApiFailure(400, "INVALID_ARGUMENT", "Message too big")
        token = str(message.get("token", ""))
        match self.devices.get(token, "malformed" if not token else ""):
            case "gone":
                raise ApiFailure(404, "UNREGISTERED", "Requested entity was not found.")
            case "malformed":
                words = "The registration token is not a valid FCM registration token"
                raise ApiFailure(400, "INVALID_ARGUMENT", words)
            case "other_sender":
                raise ApiFailure(403, "SENDER_ID_MISMATCH", "SenderId mismatch")
        with self._lock:
            name = f"projects/{PROJECT}/messages/0:{len(self.messages) + 1:016d}"
            self.messages.append({"name": name, **message})
        digest = hashlib.sha256(token.encode()).hexdigest()[:16]
        return Answer(body={"name": name}, summary={"name": name, "device": digest})

    def reset(self) -> None:
        """No messages, every device is there, real time."""
        with self._lock:
            self.messages.clear()
            self.devices.clear()
            self._tokens.clear()
            self.is_revoked = False
        self.clock.reset()

    def close(self) -> None:
        """Nothing runs in the background."""

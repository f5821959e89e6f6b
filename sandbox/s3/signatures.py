"""Signature Version 4 as S3 checks it.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from sandbox.emulator.exchange import ApiFailure, Call

ALGORITHM = "AWS4-HMAC-SHA256"
MOST_APART_S = 15 * 60
"""Seconds by which the time of a request may differ from the server's."""
_HEADER = re.compile(
    ALGORITHM + r" Credential=(?P<key>[^/,]+)/(?P<day>\d{8})/(?P<region>[^/,]+)/s3/aws4_request,"
    r" ?SignedHeaders=(?P<signed>[^,]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)


def check_signature(call: Call, keys: Mapping[str, str], now: float) -> str:
    """The id of the key that signed the call; raises `ApiFailure` as S3 refuses."""
    found = _HEADER.fullmatch(call.headers.get("authorization", ""))
    if found is None:
        raise ApiFailure(403, "AccessDenied", "Access Denied")
    secret = keys.get(found["key"])
    if secret is None:
        raise ApiFailure(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
    sent, at = call.headers.get("x-amz-content-sha256", ""), call.headers.get("x-amz-date", "")
    if sent not in {"UNSIGNED-PAYLOAD", hashlib.sha256(call.body).hexdigest()}:
        words = "The provided 'x-amz-content-sha256' header does not match what was computed."
        raise ApiFailure(400, "XAmzContentSHA256Mismatch", words)
    if abs(datetime.strptime(at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp() - now) > MOST_APART_S:
        raise ApiFailure(403, "RequestTimeTooSkewed", "The difference between the request time and now is too large.")
    scope = f"{found['day']}/{found['region']}/s3/aws4_request"
    request = canonical_request(call, found["signed"].split(";"), sent)
    text = "\n".join([ALGORITHM, at, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in (found["day"], found["region"], "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    if not hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), found["signature"]):
        words = "The request signature we calculated does not match the signature you provided."
        raise ApiFailure(403, "SignatureDoesNotMatch", words)
    return found["key"]


def canonical_request(call: Call, signed: Sequence[str], payload: str) -> str:
    """The request in the form that is signed."""
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in _query(call))
    headers = [f"{name}:{' '.join(call.headers.get(name, '').split())}\n" for name in signed]
    return "\n".join(
        [call.method, call.path, "&".join(f"{name}={value}" for name, value in pairs), "".join(headers),
         ";".join(signed), payload]
    )  # fmt: skip


def _query(call: Call) -> list[tuple[str, str]]:
    return [(name, value) for name, values in call.query.items() for value in values]

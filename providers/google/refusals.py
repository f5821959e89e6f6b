"""What an error answer of Google's says, reduced to what the error table looks at."""

import json
import re
from dataclasses import dataclass
from typing import Any

from google.auth.exceptions import RefreshError
from googleapiclient.errors import HttpError

_WORD = re.compile(r"[A-Za-z][A-Za-z_]{0,63}")


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An answer that is an error, reduced to what the table looks at."""

    status: int
    words: tuple[str, ...]
    text: str = ""
    retry_after: str | None = None
    quota_limit: str = ""


def read_refusal(error: HttpError) -> ErrorAnswer:
    """What Google's answer says, wherever it says it: `errors[].reason`, `details[].reason`, `status`, text, header."""
    body = _error_object(error.content)
    items = [item for key in ("errors", "details") for item in _objects(body.get(key))]
    limits = [_text(item.get("metadata", {}).get("quota_limit")) for item in items if _is_object(item.get("metadata"))]
    return ErrorAnswer(
        status=int(error.resp.status),
        words=tuple(
            filter(_WORD.fullmatch, [*(_text(item.get("reason")) for item in items), _text(body.get("status"))])
        ),
        text=_text(body.get("message")),
        retry_after=error.resp.get("retry-after"),
        quota_limit="".join(limits),
    )


def read_refresh_error(error: RefreshError) -> ErrorAnswer:
    """What the token endpoint said, as `google_oauth` keeps it in the error's second argument."""
    facts = error.args[1] if len(error.args) > 1 and isinstance(error.args[1], dict) else {}
    word = _text(facts.get("error"))
    return ErrorAnswer(
        status=int(facts.get("status", 500)),
        words=(word,) if _WORD.fullmatch(word) else (),
        retry_after=facts.get("retry_after"),
    )


def _error_object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    found = body.get("error") if _is_object(body) else None
    return found if isinstance(found, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

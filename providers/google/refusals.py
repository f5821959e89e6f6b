"""What an error answer of Google's says, reduced to what the error table looks at."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from google.auth.exceptions import RefreshError
from googleapiclient.errors import HttpError

from domain.jobs.failures import Scope
from providers.answers import ErrorAnswer


def read_refusal(error: HttpError, now: datetime) -> ErrorAnswer:
    """What Google's answer says, wherever it says it: `errors[].reason`, `details[].reason`, `status`, text, header."""
    body = _error_object(error.content)
    items = [item for key in ("errors", "details") for item in _objects(body.get(key))]
    words = (*(item.get("reason") for item in items), body.get("status"))
    limits = [item["metadata"].get("quota_limit") for item in items if isinstance(item.get("metadata"), dict)]
    read = ErrorAnswer.read(int(error.resp.status), words, body.get("message"), error.resp.get("retry-after"), now)
    # Google names the exhausted limit, for example "defaultPerMinutePerProject"; one "PerUserPerProject" is a user's.
    of_project = any("PerProject" in str(limit) and "PerUser" not in str(limit) for limit in limits)
    return replace(read, scope=Scope.PROVIDER if of_project else None)


def read_refresh_error(error: RefreshError, now: datetime) -> ErrorAnswer:
    """What the token endpoint said, as `google_oauth` keeps it in the error's second argument."""
    facts = error.args[1] if len(error.args) > 1 and isinstance(error.args[1], dict) else {}
    return ErrorAnswer.read(int(facts.get("status", 500)), (facts.get("error"),), "", facts.get("retry_after"), now)


def _error_object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    found = body.get("error") if isinstance(body, dict) else None
    return found if isinstance(found, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

"""What a secret looks like: one list for every entry point and every log (docs: tenancy.md#secrets).

The patterns are written in what RE2, Python and PostgreSQL have in common, and mean the same in each: the functions of
`storage/functions/secrets.sql` hold the same texts, and a test compares them. They take time in proportion to the text,
whoever wrote it: an engine that tries one way after the other could be held for minutes by a single request.
"""

import re
from collections.abc import Iterator, Mapping

import re2

NAME_ENDS = (
    r"(?:passw(?:or)?ds?|passwort|pwd|passphrase|passcode|secrets?|credentials?|authorization|cookies?|jwt|token"
    r"|clientstate|(?:access|refresh|auth|bearer|session|id)tokens"
    r"|(?:api|access|private|secret|signing|sealing|encryption|server|account|auth)keys?)(?:[0-9]+|hash|pem|value)?$"
)
"""How the name of a field ends that holds a secret: its letters and digits, in lower case (`authToken`).

The plural `tokens` alone counts them, and is no secret. With a `clientState` Microsoft proves its notifications.
"""

HARMLESS_NAMES = r"(?:page|next|sync|continuation|draft)token$"
"""Tokens that open nothing: a place in a list, and the mark of a draft of ours. Every other `token` is refused."""

EDGE = r"(?:^|[^A-Za-z0-9_]|\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})"
"""What stands before a key: the text's beginning, no letter, or a sign as JSON or a URL writes it."""

KEYS = (
    # A JSON web token. Google's: access and refresh token, the code of a consent, a client's secret, an API key.
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"ya29\.[A-Za-z0-9_-]{8,}",
    r"(?:1//|1%2[Ff]%2[Ff])[A-Za-z0-9_-]{16,}",
    r"4(?:/|%2[Ff])0[A-Za-z0-9_-]{10,}",
    r"GOCSPX-[A-Za-z0-9_-]{8,}",
    r"AIza[A-Za-z0-9_-]{30,}",
    # Firebase's: a server's key, and the token of a device.
    r"[A-Za-z0-9_-]{8,}(?::|%3[Aa])APA91b[A-Za-z0-9_-]{16,}",
    # Microsoft's: a client's secret, the codes and tokens of its two kinds of accounts.
    r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}",
    r"[01]\.A[A-Za-z0-9_-]{20,}\.?[A-Za-z0-9_.-]{20,}",
    r"M\.[CR][0-9]+_[A-Z0-9]+\.[A-Za-z0-9!*$._-]{16,}",
    r"Ew[A-D][A-Za-z0-9+/]{60,}={0,2}",
    # Discord's: a bot's token, which begins with the digits of the bot's id in Base64, and an interaction's token.
    r"[MNO][DTjz][AEIMQUYcgk][wxyz0-5][A-Za-z0-9_-]{13,}\.[A-Za-z0-9_-]{5,7}\.[A-Za-z0-9_-]{25,}",
    r"aW50ZXJhY3Rpb246[A-Za-z0-9+/=_-]{16,}",
    # Keys of Anthropic and others, Stripe, SendGrid, Resend, Twilio, Hugging Face, npm.
    r"sk-(?:ant-[A-Za-z0-9_-]{8,}|[A-Za-z0-9_-]{16,}|[A-Za-z_-]*[0-9][A-Za-z0-9_-]{11,})",
    r"(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,}",
    r"SK[0-9a-f]{32}",
    r"(?:hf_|npm_|glpat-)[A-Za-z0-9_-]{20,}",
    # GitHub, Slack, AWS: the id of a key, and a session's token.
    r"(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/=%]{16,}",
)
"""Keys and tokens that are known by their own first letters."""

LOOKS = (
    # A token in a header; the scheme stays. Whatever is no visible letter of ASCII may be a space between them.
    (
        r"[Bb][Ee][Aa][Rr][Ee][Rr](?:[^!-~]|%20|\+)+"
        r"([A-Za-z0-9+/=._~-]{16,}|[A-Za-z+/=._~-]*[0-9][A-Za-z0-9+/=._~-]{7,})"
    ),
    r"[Bb][Aa][Ss][Ii][Cc](?:[^!-~]|%20|\+)+([A-Za-z0-9+/]{20,}={0,2}|[A-Za-z+/]*[0-9][A-Za-z0-9+/]{7,}={0,2})",
    r"[Bb][Oo][Tt](?:[^!-~]|%20|\+)+([A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,})",
    f"{EDGE}({'|'.join(KEYS)})",
    # A private key, to the line that ends it. Its headers have hyphens of their own.
    (
        r"(-{4,5}(?: |%20|\+)?BEGIN[A-Z0-9 %+]*PRIVATE(?: |%20|\+)KEY(?:.|\n)*?"
        r"(?:-{4,5}(?: |%20|\+)?END[A-Z0-9 %+]*PRIVATE(?: |%20|\+)KEY[A-Z0-9 %+]*-{0,5}|$))"
    ),
    # A login in an address: the password alone.
    r"://([^][\t\n\v\f\r :/@]*:[^][\t\n\v\f\r @/]+)@",
    # An address that is a secret as a whole.
    r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]+)",
    r"(https://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]+)",
    r"(https://[A-Za-z0-9.-]*webhook\.office\.com/[A-Za-z0-9@_/-]+)",
    r"(https://hooks\.zapier\.com/hooks/[A-Za-z0-9_/-]+)",
)
"""What secrets look like inside a text; the secret itself is each pattern's one group. Words of ordinary mail pass:
`Basic understanding`, `risk-free`."""

NAMED = (
    r"((?:[?&]|&amp;)?[a-z0-9_. -]*"
    r"(?:w(?:or)?ds?|wort|pwd|phrase|code|secrets?|credentials?|authorization|cookies?|jwt|tokens?|keys?|state)"
    r"(?:[_. -]?(?:[0-9]+|hash|pem|value))?)"
)
"""What may be a secret's name before its value, in letters of either case; `names_secret` judges.

The words are the last part of each name in `NAME_ENDS`.
"""

VALUE = (
    # In quotation marks after a colon or an equals sign; then the same inside a quoted text.
    r"""\\*["']?[\t ]*(?::?=>?|:)[\t\n\r ]*b?"""
    r"""(?:"(?!\[redacted\])((?:[^"\\\n\r]|\\.)+)|'(?!\[redacted\])((?:[^'\\\n\r]|\\.)+)"""
    r"""|\\+"(?!\[redacted\])([^"]+)|\\+'(?!\[redacted\])([^']+))"""
    # Any word after an equals sign.
    r"""|[\t ]*(?:=|%3[Dd])[\t ]?(?!\[redacted\])([^"'\t\n\v\f\r &;,<>]{4,})"""
    # After a colon a list, as in `Cookie:`, or a token, both behind at most one word. `api_key:<UUID>` names an actor.
    r"""|\\*["']?[\t ]*:(?![0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[\t ]*(?:[A-Za-z0-9_-]{1,20}[\t ]+)?"""
    r"""([A-Za-z0-9_.-]+=[^\t\n\r ;,]{4,}(?:[;,] ?[^\t\n\r ;,]+)*"""
    r"""|[A-Za-z+/=._~-]{0,40}[0-9][A-Za-z0-9+/=._~-]{15,}|[A-Za-z0-9+/=_~-]{32,})"""
)
"""The value that follows a secret's name. `Password: see the letter` has none."""

LINKED = r"^(?:[?&]|&amp;)(?:token|pwd)$"
"""Names whose values ordinary mail has in its links: to join a meeting, to leave a list."""

MOST_PASSES = 8
"""How often a text is looked through. A secret may be known by its look only once its neighbour is taken out."""

_NAME_ENDS, _HARMLESS = re.compile(NAME_ENDS), re.compile(HARMLESS_NAMES)
_NO_LETTER = re.compile("[^A-Za-z0-9]")
_LOOKS, _NAMED = re2.compile("|".join(LOOKS)), re2.compile(f"(?i){NAMED}")
_VALUE, _LINKED = re.compile(VALUE), re.compile(LINKED, re.IGNORECASE)


def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    bare = _NO_LETTER.sub("", name).lower()
    return _NAME_ENDS.search(bare) is not None and _HARMLESS.search(bare) is None


def looks_secret(text: str) -> bool:
    """Whether something inside the text looks like a secret."""
    return next(_spans(text), None) is not None


def without_secrets(text: str, hidden: str) -> str:
    """The text with `hidden` in place of each thing that looks like a secret, and nothing that does is left.

    A text in which the last pass still finds something is hidden as a whole.
    """
    for _ in range(MOST_PASSES):
        spans = sorted(_spans(text))
        if not spans:
            return text
        text = "".join(_pieces(text, spans, hidden))
    return hidden if looks_secret(text) else text


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand in the text; some may overlap."""
    encodable = _encodable(text)
    for found in _LOOKS.finditer(encodable):
        yield found.span(found.lastindex)
    end = 0
    for found in _NAMED.finditer(encodable):
        if found.end() > end and names_secret(found[1]) and not _LINKED.match(found[1]):
            value = _VALUE.match(encodable, found.end())
            if value is not None:
                start, end = value.span(value.lastindex or 0)
                yield start, end


def _pieces(text: str, spans: list[tuple[int, int]], hidden: str) -> Iterator[str]:
    end = 0
    for start, after in spans:
        if start >= end:
            yield text[end:start]
            yield hidden
        end = max(end, after)
    yield text[end:]


def _encodable(text: str) -> str:
    """The text for RE2, which reads UTF-8: half of a surrogate pair, which has none, is a question mark."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def secret_in(document: object) -> str | None:
    """The name of a field that names or holds a secret, at any depth; None when there is none.

    An element of a list belongs to the field that holds the list.
    """
    waiting: list[tuple[str, object]] = [("", document)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str) and looks_secret(value):
            return name
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if names_secret(str(key)) or looks_secret(str(key)):
                    return str(key)
                waiting.append((str(key), inner))
        elif isinstance(value, list | tuple):
            waiting.extend((name, inner) for inner in value)
    return None

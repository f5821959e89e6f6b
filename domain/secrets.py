"""What a secret looks like: one list for every entry point and every log (docs: tenancy.md#secrets).

The patterns are written in what RE2 and PostgreSQL have in common, and mean the same in both: the functions of
`storage/functions/secrets.sql` hold the same texts, and a test compares them. Both engines take time in proportion to
the text, whoever wrote it: an engine that tries one way after the other could be held for minutes by a single request.
"""

import re
from collections.abc import Iterator, Mapping

import re2

NAME_ENDS = (
    r"(?:passw(?:or)?ds?|passwort|pwd|passphrase|passcode|secrets?|credentials?|authorization|cookies?|jwt|token"
    r"|(?:access|refresh|auth|bearer|session|id)tokens|(?:api|access|private|secret|signing|sealing|encryption)keys?)(?:[0-9]+|hash|pem|value)?$"
)
"""How the name of a field ends that holds a secret: its letters and digits, in lower case (`authToken`).

The plural `tokens` alone counts them, and is no secret.
"""

HARMLESS_NAMES = r"(?:page|next|sync|continuation|draft)token$"
"""Tokens that open nothing: a place in a list, and the mark of a draft of ours. Every other `token` is refused."""

LOOKS = (
    # A token in a header; the scheme stays. Whatever is no visible letter of ASCII may be a space between them.
    r"[Bb]earer[^!-~]+([A-Za-z0-9+/=._~-]{16,}|[A-Za-z+/=._~-]*[0-9][A-Za-z0-9+/=._~-]{7,})",
    r"[Bb]asic[^!-~]+([A-Za-z0-9+/]{20,}={0,2}|[A-Za-z+/]*[0-9][A-Za-z0-9+/]{7,}={0,2})",
    # A JSON web token; Google's access and refresh tokens.
    r"(?:^|[^A-Za-z0-9_])(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)",
    r"(?:^|[^A-Za-z0-9_])(ya29\.[A-Za-z0-9_-]{8,})",
    r"(?:^|[^A-Za-z0-9_])(1//[A-Za-z0-9_-]{16,})",
    # Keys of Anthropic and others, Stripe, SendGrid, Resend, Hugging Face, npm.
    r"(?:^|[^A-Za-z0-9_])(sk-(?:ant-[A-Za-z0-9_-]{8,}|[A-Za-z0-9_-]{16,}|[A-Za-z_-]*[0-9][A-Za-z0-9_-]{11,}))",
    r"(?:^|[^A-Za-z0-9_])((?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,})",
    r"(?:^|[^A-Za-z0-9_])(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
    r"(?:^|[^A-Za-z0-9_])(re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,})",
    r"(?:^|[^A-Za-z0-9_])((?:hf_|npm_|glpat-)[A-Za-z0-9_-]{20,})",
    # GitHub, Slack, AWS, Google's API keys.
    r"(?:^|[^A-Za-z0-9_])((?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,})",
    r"(?:^|[^A-Za-z0-9_])(xox[abeoprs]-[A-Za-z0-9-]{10,})",
    r"(?:^|[^A-Za-z0-9_])((?:AKIA|ASIA)[A-Z0-9]{16})",
    r"(?:^|[^A-Za-z0-9_])(AIza[A-Za-z0-9_-]{30,})",
    # A private key.
    r"(-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----[^-]*(?:-----END [A-Z ]*-----)?)",
    # A login in an address: the password alone.
    r"://([^][\t\n\v\f\r :/@]*:[^][\t\n\v\f\r @/]+)@",
    # An address that is a secret as a whole.
    r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]+)",
    r"(https://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]+)",
    r"(https://[A-Za-z0-9.-]*webhook\.office\.com/[A-Za-z0-9@_/-]+)",
    r"(https://hooks\.zapier\.com/hooks/[A-Za-z0-9_/-]+)",
    # name=value, in an address, a form or a connection string.
    (
        r"(?:^|[^A-Za-z0-9])((?:[A-Za-z0-9]+[_-])?(?:[Pp]assword|PASSWORD|[Pp]asswd|[Pp]assphrase|[Aa]ccess[_-]?[Tt]oken"
        r"|[Rr]efresh[_-]?[Tt]oken|[Ii]d[_-]?[Tt]oken|[Aa]uth[_-]?[Tt]oken|[Aa]pi[_-]?[Kk]ey|[Cc]lient[_-]?[Ss]ecret"
        r"|[Ss]ecret) ?= ?['\"]?[^]['\"\t\n\v\f\r &;,<>]{3,})"
    ),
)
"""What secrets look like inside a text; the secret itself is each pattern's one group. Words of ordinary mail pass:
`Basic understanding`, `risk-free`."""

MARKS = (
    "earer", "asic", "eyJ", "ya29.", "1//", "sk-", "k_live_", "k_test_", "whsec_", "SG.", "re_", "hf_", "npm_",
    "glpat-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "AKIA", "ASIA", "AIza",
    "PRIVATE KEY", "://", "=",
)  # fmt: skip
"""A part of everything in `LOOKS`, quick to look for: what has none of them need not be looked at more closely."""

PLAIN = "0-9a-fhijl-wyz-"
"""What is made of this class of characters alone, as ids are, is no secret: the database looks no further."""

MOST_PASSES = 8
"""How often a text is looked through. A secret may be known by its look only once its neighbour is taken out."""

_NAME_ENDS, _HARMLESS = re.compile(NAME_ENDS), re.compile(HARMLESS_NAMES)
_NO_LETTER = re.compile("[^a-z0-9]")
_LOOKS = re2.compile("|".join(LOOKS))


def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    bare = _NO_LETTER.sub("", name.lower())
    return _NAME_ENDS.search(bare) is not None and _HARMLESS.search(bare) is None


def _has_mark(text: str) -> bool:
    return any(mark in text for mark in MARKS)


def looks_secret(text: str) -> bool:
    """Whether something inside the text looks like a secret."""
    return _has_mark(text) and _LOOKS.search(_encodable(text)) is not None


def without_secrets(text: str, hidden: str) -> str:
    """The text with `hidden` in place of each thing that looks like a secret, and nothing that does is left.

    A text in which the last pass still finds something is hidden as a whole.
    """
    for _ in range(MOST_PASSES):
        if not looks_secret(text):
            return text
        text = "".join(_pieces(text, hidden))
    return hidden if looks_secret(text) else text


def _pieces(text: str, hidden: str) -> Iterator[str]:
    end = 0
    for found in _LOOKS.finditer(_encodable(text)):
        start, after = found.span(found.lastindex)
        yield text[end:start]
        yield hidden
        end = after
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

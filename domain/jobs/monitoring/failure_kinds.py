"""Which failures are of one kind: of the same code and job type, in the same words but for ids, numbers and quotes."""

import hashlib
import json
import re
from collections.abc import Collection
from typing import NamedTuple

LONGEST_WORDS = 200
"""Characters of the words that are kept; they are also what tells two kinds apart."""
MOST_READ = 1_000
"""Characters of a reason that are looked at."""
LONGEST_WORD = 40
"""A longer one is no word of a language, but an id or a token."""
MOST_KINDS = 1_000
"""A handler may put anything into a reason. What comes when so many kinds are known is one kind per job type."""
OTHER = "other"

RELEASE = re.compile(r"\d{1,9}(\.\d{1,9})*")
"""What orders releases: the numbers with which their names begin."""
QUOTED = re.compile(r"""(?<!\w)'[^']*'(?!\w)|"[^"]*"|`[^`]*`|“[^”]*”|«[^»]*»|\[[^\]]*\]|\{[^}]*\}""")
"""Each alternative ends at the first sign that closes it."""
LEFT_OUT = "…"


class FailureKind(NamedTuple):
    """What failures of one kind have in common."""

    fingerprint: str
    code: str
    job_type: str
    words: str


def kind_of(job_type: str, code: str, reason: str) -> FailureKind:
    """The kind of a failure, by its redacted reason."""
    words = plain_words(reason)
    key = json.dumps([job_type, code, words])
    return FailureKind(hashlib.sha256(key.encode()).hexdigest()[:32], code, job_type, words)


def bounded(kind: FailureKind, known: Collection[str]) -> FailureKind:
    """The kind itself, or that of all others of its job type where enough fingerprints are known."""
    if kind.fingerprint in known or len(known) < MOST_KINDS:
        return kind
    return kind_of(kind.job_type, OTHER, OTHER)


def release_order(release: str | None) -> tuple[int, ...]:
    """What orders a release among others; empty for one that is not known."""
    found = RELEASE.match(release or "")
    return tuple(map(int, found[0].split("."))) if found else ()


def comes_again(mended_in: str | None, releases: Collection[str | None]) -> bool:
    """Whether a kind that was mended in a release is open again: it was seen there or later, or nobody knows where."""
    seen = [release_order(one) for one in releases]
    return not mended_in or any(not one or one >= release_order(mended_in) for one in seen)


def plain_words(reason: str) -> str:
    """The reason without what differs from job to job: ids, addresses, numbers, and what is quoted or in brackets."""
    without_quotes = QUOTED.sub(f" {LEFT_OUT} ", reason[:MOST_READ])
    words: list[str] = []
    for word in without_quotes.split():
        plain = word if _is_plain(word) else LEFT_OUT
        if plain != LEFT_OUT or words[-1:] != [LEFT_OUT]:
            words.append(plain)
    return " ".join(words)[:LONGEST_WORDS]


def _is_plain(word: str) -> bool:
    return len(word) <= LONGEST_WORD and "@" not in word and "://" not in word and not any(map(str.isdigit, word))

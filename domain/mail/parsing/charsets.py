"""Charsets by the names that mail gives them: the labels of the WHATWG's Encoding Standard, as every reader has them.

By that standard ISO-8859-1 is windows-1252, GB2312 is GB18030's older part, and EUC-KR and Big5 have their extensions.
Other names are looked for among the aliases of Python's codecs, such as cp850 and ISO-2022-KR. Python remembers each
name that a codec is looked up by, for ever: only names that exist are looked up.
"""

import codecs
from encodings.aliases import aliases
from functools import cache

import webencodings

from domain.mail.parsing.limits import LONGEST_CHARSET

_REPLACEMENT = "replacement"
"""The standard's name for charsets that a browser refuses for safety; in mail they carry text."""
_CODECS = frozenset(aliases.values())
_SEPARATORS = str.maketrans("- .:", "____")


def find_charset(label: str) -> webencodings.Encoding | None:
    """The charset that a message names; None for a name that is none."""
    name = label.strip(" \t\r\n\"'")
    if not name.isascii() or not 0 < len(name) <= LONGEST_CHARSET:
        return None
    found = webencodings.lookup(name)
    if found is not None and found.name != _REPLACEMENT:
        return found
    alias = name.lower().translate(_SEPARATORS)
    known = aliases.get(alias, alias)
    return _codec(known) if known in _CODECS else None


@cache
def _codec(name: str) -> webencodings.Encoding | None:
    """One of Python's codecs by its own name; None for those that are no charset. There are about a hundred."""
    try:
        b"a".decode(name, "replace")
        return webencodings.Encoding(name, codecs.lookup(name))
    except LookupError:
        return None

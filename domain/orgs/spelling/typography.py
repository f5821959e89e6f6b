"""Typographic letters that mean the same as a letter of ASCII, which people type instead."""

APOSTROPHES = "\u2018\u2019\u201a\u201b\u2032\u2035\u02b9\u02bb\u02bc\u02bd\u02c8`\u00b4"
"""Curved and primed ones, those that are letters, and the accents that stand alone."""
_SAME = (
    ("'", APOSTROPHES),
    ('"', "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u301d\u301e"),
    ("-", "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043"),
    ("<", "\u2039"),
    (">", "\u203a"),
    ("/", "\u2044\u2215"),
    ("|", "\u00a6"),
    ("~", "\u223c\u02dc"),
    ("*", "\u2022\u2023\u2219"),
    (".", "\u00b7"),
    ("x", "\u00d7"),
)
ASCII_TWINS = {letter: twin for twin, letters in _SAME for letter in letters}
"""By the typographic letter."""

"""A model's reply as a person writes one: plain text without Markdown, and the owner's name in the gap for it.

What only looks like Markdown stays: `2*3*4`, `snake_case`, `*nix`, addresses of pages, and whatever is marked as code.
"""

import re

from domain.jobs.failures import Invalid

_MARKS = "*_[]{}<>#`|~X"
_HIDE = {ord(mark): 0xFDD0 + number for number, mark in enumerate(_MARKS)}
"""Literal marks are noncharacters while the others are read (Unicode 23.7: for internal use)."""
_SHOW = {hidden: mark for mark, hidden in _HIDE.items()}
_HIDE_IN_ADDRESS = {ord(mark): _HIDE[ord(mark)] for mark in "_#~{}X"}

_FENCE = re.compile(r"[ \t]*(?:```+|~~~+)[\w+ -]*")
_CODE = re.compile(r"(?<!`)(?:`([^`\n]+)`|``([^`\n]+)``)(?!`)")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"]+")
_LINK = re.compile(
    r"!?\[(?P<words>[^\[\]\n]{1,300})\]"
    r"\(<?(?P<to>(?:https?://|mailto:|tel:|www\.)[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)?)>?(?:[ ]+\"[^\"\n]*\")?\)"
)
_TABLE = re.compile(
    r"(?m)^(?P<head>[^\n|]*\|[^\n]*)\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*(?:\n|\Z)"
    r"(?P<rows>(?:[^\n|]*\|[^\n]*(?:\n|\Z))*)"
)
_TAG = re.compile(r"</?(?:b|i|u|em|strong|p)>", re.IGNORECASE)
_BREAK = re.compile(r"<br[ ]?/?>", re.IGNORECASE)
_RULE = re.compile(r"(?m)^[ \t]*(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,}|={3,})$")
_HEADING = re.compile(r"(?m)^ {0,3}#{1,6}[ \t]+(?=\S)([^\n]*)$")
_BULLET = re.compile(r"(?m)^([ \t]*)(?:[*•]|\+(?=[ \t]+[^\W\d]))[ \t]+")
_STARRED = r"(?=[^\s*])([^*]*[^\s*])"
_STARS = re.compile(rf"(?<![\w*/\\])(?:\*{_STARRED}\*|\*\*{_STARRED}\*\*|\*\*\*{_STARRED}\*\*\*)(?![\w*])", re.ASCII)
_LINES = re.compile(r"(?m)(?:(?<=[\s(\"'>,:;-])|^)(?:__(?=\S)([^_\n]+)(?<=\S)__|_(?=\S)([^_\n]+)(?<=\S)_)(?![\w/@])")
_ESCAPED = re.compile(r"(?<![:\\])\\([*_#`\[\]])")
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_NESTED = 3
"""Marks of emphasis around each other: bold, italic, both."""

_OWN = r"(?:your|my|sender'?s?|ihre?|deine?|meine?|votre|vos|mon|tu|su|mi|il tuo|il suo|uw|jouw|seu|o seu)"
_NAME = r"(?:full |first |last |vor|nach)?(?:name|nom|nombre|nome|naam)"
_OWN_NAME = re.compile(rf"(?:(?:insert|enter|add) )?(?:{_OWN}[ _]{_NAME}|signature)(?: here)?", re.IGNORECASE)
_OWNERS = re.compile(rf"(?:(?:insert|enter|add) )?{_OWN}[ _].*|{_NAME}|signature", re.IGNORECASE)
_ASKS = re.compile(
    rf"\b(?:{_OWN}|insert|enter|fill|add|specify|tbd|here|{_NAME}|date|datum|fecha|time|uhrzeit|heure|hora|company|"
    r"firma|position|title|phone|telefon|number|nummer|address|adresse|location|amount|betrag|price|link|recipient|"
    r"einfügen)\b|_name\b",
    re.IGNORECASE,
)
_GAP = re.compile(
    r"(?<![\w\])])\[(?P<square>[^\[\]\n]{2,80})\](?![\w(\[:])|\{\{(?P<field>[^{}\n]{1,80})\}\}"
    r"|(?<![\w\\])\$?\{(?P<brace>[^{}\n]{2,80})\}|<(?P<angle>[^<>@/\n]{2,80})>|(?<![^\W_])_{3,}(?![^\W_])"
    r"|\bX{2,}(?:[.:/-]X{2,})+\b|\b(?:at|on|EUR|USD|um|am) X{2,}\b|[€$£] ?X{2,}\b|\bX{3,}\b"
)


def plain_reply(text: str, name: str = "") -> str:
    """The reply without Markdown, and with `name` where it has a gap for its owner's; lists keep "- ".

    Raises `Invalid` for a reply without words, and for any other gap, such as `[date]`, `{{time}}`, `<insert link>` or
    `XX:XX`: only a person knows what belongs there.
    """
    literal = _CODE.sub(lambda found: found[found.lastindex or 0].strip().translate(_HIDE), _without_fences(text))
    literal = _LINK.sub(_link, _TABLE.sub(_table, literal))
    literal = _ADDRESS.sub(lambda found: found[0].translate(_HIDE_IN_ADDRESS), literal)
    plain = _filled(_without_marks(literal), name)
    if any(map(_is_gap, _GAP.finditer(plain))):
        raise Invalid("body", "has a gap that only a person can fill in")
    shown = plain.translate(_SHOW).strip()
    if not shown:
        raise Invalid("body", "is empty")
    return shown


def _without_fences(text: str) -> str:
    """The lines of code blocks as literal text; a fence goes with its line."""
    lines, in_code = [], False
    for line in text.split("\n"):
        if _FENCE.fullmatch(line):
            in_code = not in_code
        else:
            lines.append(line.translate(_HIDE) if in_code else line)
    return "\n".join(lines)


def _link(found: re.Match[str]) -> str:
    words, target = found["words"].strip(), found["to"].removeprefix("mailto:").removeprefix("tel:")
    return target if words == target else f"{words} ({target})"


def _table(found: re.Match[str]) -> str:
    rows = [found["head"], *found["rows"].splitlines()]
    return "".join(f"{' | '.join(cell.strip() for cell in row.strip().strip('|').split('|'))}\n" for row in rows)


def _heading(found: re.Match[str]) -> str:
    """The words of a heading; the marks that may close it are apart from them: `C#` is a word."""
    words = found[1].rstrip()
    bare = words.rstrip("#")
    return words if bare == bare.rstrip() else bare.rstrip()


def _underlined(found: re.Match[str]) -> str:
    """The words of an emphasis; one word between two pairs of lines is a name of Python's, such as `__init__`."""
    words: str = found[1] or found[2]
    return found[0] if found[1] and len(words.split()) == 1 else words


def _without_marks(text: str) -> str:
    text = _TAG.sub("", _BREAK.sub("\n", text))
    text = _BULLET.sub(r"\1- ", _HEADING.sub(_heading, _RULE.sub("", text)))
    for _ in range(_NESTED):
        text = _LINES.sub(_underlined, _STARS.sub(lambda found: found[found.lastindex or 0], text))
    text = _ESCAPED.sub(lambda found: found[1].translate(_HIDE), text)
    lines = (line if line == "-- " else line.rstrip() for line in text.split("\n"))
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines))


def _filled(text: str, name: str) -> str:
    """The owner's name in its gap; lines at the end that ask for the owner's other particulars are left out."""
    lines = text.rstrip().split("\n")
    foot = len(lines)
    while foot > 1 and (not lines[foot - 1].strip() or _OWNERS.fullmatch(_only_gap(lines[foot - 1]))):
        foot -= 1
    asked = [number for number in range(foot, len(lines)) if re.search(_NAME, lines[number], re.IGNORECASE)]
    kept = lines[: asked[0]] if asked and name else lines[:foot]
    body = "\n".join(kept)
    if name:
        body = _GAP.sub(lambda gap: name if _OWN_NAME.fullmatch(_words(gap)) else gap[0], body)
        return f"{body}\n{name}" if asked else body
    return body


def _only_gap(line: str) -> str:
    """What a line asks for that is nothing but a gap; else nothing."""
    gap = _GAP.fullmatch(line.strip().rstrip(",."))
    return "" if gap is None else _words(gap)


def _words(gap: re.Match[str]) -> str:
    return (gap["square"] or gap["field"] or gap["brace"] or gap["angle"] or "").strip()


def _is_gap(gap: re.Match[str]) -> bool:
    """Whether something is to be filled in: two words in square brackets, and in others those that ask for a thing.

    One word in ASCII that asks for nothing is a tag of a mailing list, as in the subject that a reply may name. Where
    "was: " or "was Re: " begins, whatever follows is the subject that a thread had before.
    """
    words = _words(gap)
    if gap["square"] and words.casefold().startswith(("was: ", "was re: ")):
        return False
    if gap["field"] or not words or _ASKS.search(words) or "__" in words:
        return True
    is_tag = words.isascii() and len(words.split()) == 1
    return bool(gap["square"]) and not is_tag and not any(map(str.isdigit, words))

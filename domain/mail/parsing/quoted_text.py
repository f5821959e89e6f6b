"""What the writer of a message wrote anew: the text without quoted replies and signature."""

import re

_DATED_ATTRIBUTION = re.compile(r"(?i)^\W*on\b.{5,200}\bwrote\s*:?\s*$")
_ATTRIBUTION = re.compile(r"(?i)^.{3,150}\b(?:wrote|writes|said|schrieb|a écrit|escribió|ha scritto|schreef)\s*:\s*$")
_QUOTED_BELOW = re.compile(
    r"(?i)^\s*(?:-{2,}\s*(?:original message|ursprüngliche nachricht|message d'origine|mensaje original|"
    r"forwarded message|forwarded by .*)\s*-{0,}|_{20,}|begin forwarded message:)\s*$"
)
_OUTLOOK_HEADER = re.compile(r"(?i)^\s*\*?(?:from|von|de)\s*:\*?\s.+$")
_OUTLOOK_NEXT = re.compile(r"(?i)^\s*\*?(?:sent|date|to|gesendet|envoyé|enviado)\s*:\*?\s")
_SIGNATURE = re.compile(r"^-- ?$")
_BLANK_RUN = re.compile(r"\n{3,}")
_ATTRIBUTION_LINES = 2
_LONGEST_ATTRIBUTION = 300


def visible_text(text: str) -> str:
    """The text without quoted lines, their attributions, the copied message below and the signature.

    New text between quoted blocks is kept. When nothing would be left, the text comes back whole.
    """
    lines = text.splitlines()
    kept: list[str] = []
    for number, line in enumerate(lines):
        if _SIGNATURE.match(line) or _begins_copy(lines, number):
            break
        if _is_quoted(line):
            _drop_attribution(kept)
            kept.append("")
        else:
            kept.append(line.rstrip())
    _drop_attribution(kept)
    fresh = _BLANK_RUN.sub("\n\n", "\n".join(kept)).strip()
    return fresh or text.strip()


def _is_quoted(line: str) -> bool:
    stripped = line.lstrip()
    return stripped.startswith(">") and not stripped.startswith(">From ")


def _begins_copy(lines: list[str], number: int) -> bool:
    """Whether a copied message begins here: a rule with its name, or a header block as Outlook writes it."""
    line = lines[number]
    if _QUOTED_BELOW.match(line):
        return not line.lstrip().startswith("_") or _any_header_below(lines, number)
    return bool(_OUTLOOK_HEADER.match(line)) and any(
        _OUTLOOK_NEXT.match(below) for below in lines[number + 1 : number + 3]
    )


def _any_header_below(lines: list[str], number: int) -> bool:
    return any(_OUTLOOK_HEADER.match(below) for below in lines[number + 1 : number + 4])


def _drop_attribution(kept: list[str]) -> None:
    """Take back "On Monday, A wrote:", which mailers wrap over up to two lines, when it ends what was kept.

    Trailing blank lines go too, so that each is looked at once however often this is called.
    """
    while kept and not kept[-1].strip():
        kept.pop()
    for count in range(_ATTRIBUTION_LINES, 0, -1):
        last = kept[-count:]
        if any(len(line) > _LONGEST_ATTRIBUTION for line in last):
            continue
        joined = " ".join(line.strip() for line in last)
        # Two lines only with a date in front: a line above "Bob wrote:" may be what the writer wrote.
        if _DATED_ATTRIBUTION.match(joined) or (count == 1 and _ATTRIBUTION.match(joined)):
            del kept[-count:]
            return

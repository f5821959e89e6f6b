"""What the writer of a message wrote anew, as far as the text shows: for samples of a person's voice.

A mailer's head of a quotation has a date and an address, whatever its language, so the form of the lines is looked at
and few words are known. A guess may be wrong: a model that decides about a message is shown all of it.

The package mail-parser-reply knows 13 languages by their words: of 55 heads and plain texts in 24 languages it read 29
as a person would, these lines all of them, and its patterns take time that grows by the square of a text.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

from domain.orgs.spelling.normal_form import visible

_FROM = re.compile(
    r"(?i)from|von|van|de(?: la)?|da|fra|från|od|od kogo|lähettäjä|feladó|kimden|gönderen|от|від|από|发件人|"
    r"發件人|寄件者|差出人|送信元|보낸 ?사람|expéditeur|mittente|remitente|afsender|avsändare|מאת|من"
)
_SENT = re.compile(
    r"(?i)sent|date|gesendet|datum|verzonden|envoyé(?: le)?|enviad[oa](?: el| em)?|trimis|odoslané|data|fecha|inviato|"
    r"sendt|skickat|dato|wysłano|odesláno|elküldve|lähetetty|gönderildi|tarih|отправлено|дата|надіслано|发送时间|發送時間|"
    r"寄件日期|日期|送信日時|日付|보낸 ?날짜|날짜|נשלח|تاريخ"
)
_WROTE = re.compile(
    r"(?i)\b(?:wrote|writes|said|schrieb|geschrieben|a écrit|escribió|escreveu|ha scritto|schreef|skrev|skrifaði|"
    r"napsala?|napisała?|pisze|írta|kirjoitti|yazd\u0131|написала?|пишет|έγραψε|написав)\b|写道|寫道|书きました|書きました|작성|"
    r"כתב|כתבה|كتب"
)
_ON = re.compile(r"(?i)\W*on\b")
_FORWARDED = re.compile(r"(?i)begin forwarded message|anfang der weitergeleiteten|début du message|inicio del mensaje")
_LABEL = re.compile(r"\s*[*_>]*([^\W\d_][^\d:：<>@]{0,24}?)[*_]*\s*[:：][*_]*(?:\s+|$)(.*)")  # noqa: RUF001 - colons as Chinese and Japanese write them
_NUMBERS = re.compile(r"\b\d{4}\b|\d{4}年|\d{1,2}[:.h]\d{2}\b|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
_ADDRESS = re.compile(r"[^\s<>@]@[^\s<>@]")
_RULE = re.compile(r"\s*(?:-{4,}[^-].*?-{4,}|_{10,}|-{10,})\s*")
_SIGNATURE = re.compile(r"-- ?")
_MAY_BEGIN = re.compile(r"[:：@\d]|-{4}|_{10}|\b[Oo]n\b")  # noqa: RUF001 - colons as Chinese and Japanese write them
"""What the first line of a copy has: a quick look, before several lines are looked at together."""
_BLANK_RUN = re.compile(r"\n{3,}")
_COLONS = (":", "：")  # noqa: RUF001 - colons as Chinese and Japanese write them
_HEAD_LINES = 3
"""Lines over which mailers wrap the head of a quotation."""
_HEADER_LINES = 6
_FEWEST_WITHOUT_ADDRESS = 4
_LONGEST_LINE = 300
_MOST_LINES = 2_000
"""In which the beginning of a copy is looked for: several lines are looked at together, so each costs some 50 µs."""


def visible_text(text: str) -> str:
    """The text without quoted lines, their heads, the copied message below and the signature.

    New text between quoted blocks is kept. When nothing would be left, the text comes back whole.
    """
    lines = visible(text).splitlines()
    kept: list[str] = []
    for line in lines[: copied_from(lines)]:
        if _SIGNATURE.fullmatch(line):
            break
        if is_quoted(line):
            _drop_head(kept)
            kept.append("")
        else:
            kept.append(line.rstrip())
    _drop_head(kept)
    fresh = _BLANK_RUN.sub("\n\n", "\n".join(kept)).strip()
    return fresh or text.strip()


def is_quoted(line: str) -> bool:
    """Whether a line is marked as another message's."""
    stripped = line.lstrip()
    return stripped.startswith(">") and not stripped.startswith(">From ")


def copied_from(lines: Sequence[str]) -> int:
    """The number of the line with which a message begins that bears no marks; that of all lines without one."""
    looked_at = range(min(len(lines), _MOST_LINES))
    return next((number for number in looked_at if _begins_copy(lines, number)), len(lines))


def _begins_copy(lines: Sequence[str], number: int) -> bool:
    """Whether a copied message begins with this line: with headers, a rule above them, or a head."""
    line = lines[number]
    if len(line) > _LONGEST_LINE or is_quoted(line) or not _MAY_BEGIN.search(line):
        return False
    if _RULE.fullmatch(line) or _FORWARDED.search(line):
        is_head = _NUMBERS.search(line) is not None and _ADDRESS.search(line) is not None
        return is_head or _has_headers(lines, number + 1, below_rule=True)
    if _has_headers(lines, number):
        return True
    following = _following(lines, number, _HEAD_LINES)
    heads = (count for count in range(1, len(following) + 1) if _is_head(following[:count]))
    return any(not any(map(is_quoted, _following(lines, number + count, 2))) for count in heads)


def _following(lines: Sequence[str], number: int, most: int) -> list[str]:
    """Up to so many lines with words from there on, of no more than a window."""
    return [one for one in lines[number : number + 2 * most] if one.strip()][:most]


def _has_headers(lines: Sequence[str], number: int, *, below_rule: bool = False) -> bool:
    """Whether headers of a copied message begin within two lines: whose it is, and when it was sent.

    Forms and contacts have lines like these: only below a rule is a sender's name enough.
    """
    block = _following(lines, number, _HEADER_LINES)
    labels = [_LABEL.fullmatch(one) if len(one) <= _LONGEST_LINE else None for one in block]
    found = [(one[1].strip(), one[2]) for one in takewhile(bool, labels) if one]
    is_from = bool(found) and _FROM.fullmatch(found[0][0]) is not None
    has_address = any(_ADDRESS.search(value) for _, value in found)
    sent = next((place for place, (name, _) in enumerate(found) if _SENT.fullmatch(name)), 0)
    if below_rule:
        return is_from or (has_address and sent > 0)
    return is_from and (sent > 0 if has_address else sent == 1 and len(found) >= _FEWEST_WITHOUT_ADDRESS)


def _is_head(lines: Sequence[str], *, is_above_quote: bool = False) -> bool:
    """Whether lines together are the head of a quotation, such as "On Monday, Ada <ada@example.org> wrote:".

    It has a date, an address and a verb. Above quoted lines the date and another of them are enough, and on a single
    line one of the three.
    """
    joined = " ".join(line.strip() for line in lines)
    if len(joined) > _LONGEST_LINE or not joined.endswith(_COLONS):
        return False
    has_date, has_address, has_verb = (bool(one.search(joined)) for one in (_NUMBERS, _ADDRESS, _WROTE))
    if is_above_quote and len(lines) == 1:
        return has_date or has_address or has_verb
    is_dated = has_date or _ON.match(lines[0]) is not None
    begins = bool(_NUMBERS.search(lines[0]) or _ADDRESS.search(lines[0]) or _ON.match(lines[0]))
    enough = any if is_above_quote else all
    return begins and is_dated and enough((has_address, has_verb))


def _drop_head(kept: list[str]) -> None:
    """Take back the head of a quotation when it ends what was kept.

    Trailing blank lines go too, so that each is looked at once however often this is called.
    """
    while kept and not kept[-1].strip():
        kept.pop()
    for count in range(_HEAD_LINES, 0, -1):
        last = kept[-count:]
        if len(last) == count and all(one.strip() for one in last) and _is_head(last, is_above_quote=True):
            del kept[-count:]
            return

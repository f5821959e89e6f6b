"""Ways in which programs and people write a name, an address or a number."""

import html
import json
import quopri
import unicodedata
from collections.abc import Callable, Mapping
from email.header import Header
from html.entities import codepoint2name
from urllib.parse import quote, quote_plus

Way = Callable[[str], str]


def full_width(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)


def with_entities(text: str) -> str:
    return "".join(f"&{codepoint2name[ord(one)]};" if ord(one) in codepoint2name else one for one in text)


def last_first(text: str) -> str:
    *first, last = text.split()
    return f"{last}, {' '.join(first)}"


def arabic_digits(text: str) -> str:
    return "".join(chr(0x660 + int(one)) if one.isdecimal() else one for one in text)


ANY: Mapping[str, Way] = {
    "as it is": str,
    "capitals": str.upper,
    "capitals, one by one": lambda text: "".join(one.upper() if len(one.upper()) == 1 else one for one in text),
    "small": str.lower,
    "in parts": lambda text: unicodedata.normalize("NFD", text),
    "in parts, capitals": lambda text: unicodedata.normalize("NFD", text.upper()),
    "full width": full_width,
    "a link": lambda text: f"https://example.org/?q={quote(text, safe='')}&x=1",
    "a link of capitals": lambda text: quote(text.upper(), safe=""),
    "a link in a link": lambda text: quote(quote(text, safe=""), safe=""),
    "in parts, in a link": lambda text: quote(unicodedata.normalize("NFD", text)),
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "HTML by number": lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
    "HTML by hex": lambda text: "".join(one if one.isascii() else f"&#x{ord(one):X};" for one in text),
    "HTML by name": with_entities,
    "HTML by name, twice": lambda text: html.escape(with_entities(html.escape(text))),
    "quoted-printable": lambda text: quopri.encodestring(text.encode(), quotetabs=True).decode(),
    "unseen letters": "\u200b".join,
    "soft hyphen": lambda text: f"{text[:2]}\u00ad{text[2:]}",
}
NAMES: Mapping[str, Way] = {
    **ANY,
    "a form": quote_plus,
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
    "many blanks": lambda text: text.replace(" ", " \n\t  "),
    "no-break blanks in HTML": lambda text: text.replace(" ", "&nbsp;"),
    "a thin blank": lambda text: text.replace(" ", "\u2009"),
    "last name first": last_first,
    "last name first, capitals": lambda text: last_first(text).upper(),
    "last name first, in a link": lambda text: quote(last_first(text)),
    "a file": lambda text: f"{text.replace(' ', '_')}_2026.pdf",
    "a file with hyphens": lambda text: f"cv-{text.replace(' ', '-')}.pdf",
    "a link's page": lambda text: f"https://example.org/in/{quote(text.replace(' ', '-'))}/cv",
    "called": lambda text: f"@{text}",
    "a soft line end": lambda text: f"{text[:2]}=\r\n{text[2:]}",
    "an old script": lambda text: "".join(one if one.isascii() else f"%u{ord(one):04X}" for one in text),
    "bytes of Python": lambda text: repr(text.encode())[2:-1],
    "a mail's header": lambda text: str(Header(text, "utf-8").encode()) if text.isascii() else q_word(text),
    "curved apostrophes": lambda text: text.replace("'", "\u2019"),
    "curved apostrophes in HTML": lambda text: text.replace("'", "&rsquo;"),
    "an escaped apostrophe": lambda text: text.replace("'", "\\'"),
    "another hyphen": lambda text: text.replace("-", "\u2010"),
}


def q_word(text: str) -> str:
    coded = "".join(one if one.isascii() and one.isalpha() else quopri_letter(one) for one in text)
    return f"=?utf-8?q?{coded}?="


def quopri_letter(letter: str) -> str:
    return "_" if letter == " " else "".join(f"={one:02X}" for one in letter.encode())


NUMBERS: Mapping[str, Way] = {
    "as it is": str,
    "groups": lambda text: f"{text[:3]} {text[3:6]} {text[6:]}",
    "the case of the report": lambda text: f"Call {text[:3]} {text[3:6]} {text[6:]} tonight",
    "dots": lambda text: f"{text[:3]}.{text[3:6]}.{text[6:]}",
    "hyphens": lambda text: f"tel:{text[:3]}-{text[3:6]}-{text[6:]}",
    "no-break hyphens": lambda text: f"{text[:3]}\u2011{text[3:6]}\u2011{text[6:]}",
    "no-break blanks": lambda text: f"{text[:3]}\u00a0{text[3:6]}\u00a0{text[6:]}",
    "two zeros": lambda text: f"00{text[1:]}",
    "two zeros, groups": lambda text: f"(00 {text[1:3]}) {text[3:6]} / {text[6:]}",
    "a zero in parentheses": lambda text: f"{text[:3]} (0) {text[3:6]} {text[6:]}",
    "in its country": lambda text: f"0{text[3:]}",
    "in its country, groups": lambda text: f"(0{text[3:6]}) {text[6:9]}-{text[9:]}",
    "without a plus sign": lambda text: text[1:],
    "full width": full_width,
    "digits of Arabic": arabic_digits,
    "a link": lambda text: f"?to={quote(text)}&x",
    "a link of groups": lambda text: quote(f"{text[:3]} {text[3:6]} {text[6:]}"),
    "JSON of lines": lambda text: json.dumps(f"\n{text[:3]}\u00a0{text[3:]}\t"),
    "HTML": lambda text: f"&#43;{text[1:3]}&nbsp;{text[3:]}",
}
ADDRESSES: Mapping[str, Way] = {name: way for name, way in ANY.items() if not name.startswith("quoted")} | {
    "its domain in letters": lambda text: f"{text.partition('@')[0]}@{letters_of(text)}",
    "its domain in capitals": lambda text: f"{text.partition('@')[0]}@{letters_of(text).upper()}",
    "its domain in parts": lambda text: f"{text.partition('@')[0]}@{unicodedata.normalize('NFD', letters_of(text))}",
    "its domain in a link": lambda text: f"mailto:{text.partition('@')[0]}%40{quote(letters_of(text))}",
    "its domain in HTML": lambda text: f"{text.partition('@')[0]}&#64;{with_entities(letters_of(text))}",
    "with a part behind a plus sign": lambda text: text.replace("@", "+news@"),
    "with such a part in a link": lambda text: quote(text.replace("@", "+news@")),
}


def letters_of(address: str) -> str:
    return address.partition("@")[2].encode().decode("idna")

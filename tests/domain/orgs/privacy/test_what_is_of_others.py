"""What has somebody's name or digits in it, and is not theirs: addresses of others, days, times, amounts, ids."""

import json
import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from uuid import UUID

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.orgs.privacy.erasure import Mark, MarkKind, named, search_for
from domain.orgs.spelling.phone_numbers import number_parts
from tests.domain.orgs.privacy.ways_to_write import Way

HERS = "anna.king@corp.example"
SEARCH = search_for([Mark(MarkKind.ADDRESS, HERS), *named(["Anna King"])])
OF_OTHERS = [
    "anna.king@customer.example",
    "x.anna.king@customer.example",
    "anna-king.work+news@customer.example",
    "anna_king@customer.example",
    '"anna king"@customer.example',
    "o'anna.king@corp.example",
    "bob@anna-king.example",
    "bob@mail.anna.king.example",
    "@anna-king.example",
    "https://anna-king.example/",
    "https://www.anna.king.example/",
]
FORMS: Mapping[str, Way] = {
    "a text": str,
    "a list of recipients": lambda text: f"Bob King, {text}; {text}",
    "a header": lambda text: f"=?utf-8?q?B=C3=B6b?= <{text}>",
    "JSON": lambda text: json.dumps({"to": [text]}),
    "JSON with escapes": lambda text: json.dumps({"to": text}).replace("/", r"\/").replace("@", r"\u0040"),
    "a link": lambda text: f"mailto:{text}?subject=hello",
    "a link's part": lambda text: f"https://example.org/?to={quote(text, safe='')}&x=1",
    "a link in a link": lambda text: quote(quote(text, safe=""), safe=""),
    "HTML": lambda text: f'<a href="mailto:{text}">{text}</a>'.replace("@", "&#64;"),
    "quoted-printable": lambda text: f"to {text.replace('@', '=40')} today",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("address", OF_OTHERS)
def test_a_name_in_an_address_of_others_stays(address: str, form: str) -> None:
    text = FORMS[form](address)
    assert SEARCH.without(text) == text


@pytest.mark.parametrize("form", FORMS)
def test_their_own_address_goes_and_the_name_beside_an_address(form: str) -> None:
    assert "king" not in SEARCH.without(FORMS[form](HERS)).replace("Bob King", "").lower()
    for address in OF_OTHERS[:4]:
        assert SEARCH.without(f"Anna King <{address}>, Anna King") == f"erased <{address}>, erased"


def test_a_name_beside_an_address_or_in_a_file_goes() -> None:
    for text, left in [
        ("Anna King/anna.king@customer.example", "erased/anna.king@customer.example"),
        ("@Anna King, see cv-anna-king.pdf", "@erased, see cv-erased.pdf"),
        ("Anna.King-and-Anna.King, x-Anna.King-Anna.King", "erased-and-erased, x-erased"),
        ("https://anna-king.example/anna-king?q=Anna+King", "https://anna-king.example/erased?q=erased"),
    ]:
        assert SEARCH.without(text) == left


def of_all_plans() -> list[str]:
    """Numbers of every country, of each kind that it has."""
    found = []
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for kind in (phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE):
            number = phonenumbers.example_number_for_type(region, kind)
            if number is not None:
                found.append(str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)))
    return sorted(set(found))


PLANS = of_all_plans()[::4]
LIKE_DATES = [
    "+4520261129",
    "+4524122026",
    "+3546111234",
    "+43512202610",
    "+33612202610",
    "+12026112910",
    "+4920261129",
]


def texts_with(digits: str) -> list[str]:
    """Texts about something else with these digits, as far as they have enough."""
    padded = (digits * 32)[:32]
    found = [
        f"0.{digits} 17.{digits} 3,{digits} -0.{digits}e-5",
        f"{digits}.50 EUR, {digits},50",
        f"{padded}",
        str(UUID(padded)),
        f"x{digits} {digits}f a{digits}b 6{digits} {digits}7",
        f"{padded[:8]}-{digits[:4]}-4abc-8abc-123456789abc",
    ]
    for at in range(max(1, len(digits) - 7)):
        eight = digits[at : at + 8]
        found += [f"{digits[:at]}{sign}{digits[at:]}" for sign in (":", "T") if at]
        for form in ("%Y%m%d", "%d%m%Y", "%m%d%Y"):
            try:
                day = datetime.strptime(eight, form).replace(tzinfo=UTC)
            except ValueError:
                continue
            if 1900 <= day.year < 2100:
                found += [day.strftime(one) for one in ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%SZ")]
    return found


@pytest.mark.parametrize("number", [*PLANS, *LIKE_DATES])
def test_digits_of_something_else_are_no_telephone(number: str) -> None:
    """The same digits in a day, a time, an amount, a UUID, a longer number: none is touched."""
    search = search_for([Mark(MarkKind.PHONE, number)])
    parts = number_parts(number)
    for digits in {parts.national, parts.trunk + parts.national, parts.country + parts.national}:
        for text in texts_with(digits):
            assert search.without(text) == text


@settings(max_examples=15)
@given(st.randoms(use_true_random=False))
def test_no_day_and_no_time_is_a_telephone(chance: random.Random) -> None:
    """Whatever day somebody's digits are."""
    day = datetime(1990, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randrange(1_800_000_000))
    digits = day.strftime(chance.choice(["%Y%m%d", "%d%m%Y", "%d%m%Y%H%M", "%Y%m%d%H"]))
    number = f"+{chance.choice(['45', '354', '47', '65', '1', '49', '43', '7'])}{digits.removeprefix('0')}"
    search = search_for([Mark(MarkKind.PHONE, number)])
    for form in (
        "%Y-%m-%d",
        "%d.%m.%Y",
        "%d/%m/%Y %H:%M",
        "%Y-%m-%dT%H:%M:%S.%fZ",
        "%Y%m%d",
        "%Y%m%dT%H%M%SZ",
        "%d.%m.%Y %H",
    ):
        text = f"from {day.strftime(form)} on, phone: {day.strftime('%Y-%m-%d')}"
        assert search.without(text) == text


@pytest.mark.parametrize("number", PLANS)
def test_a_number_of_every_plan_is_found_with_its_country(number: str) -> None:
    parsed = phonenumbers.parse(number)
    search = search_for([Mark(MarkKind.PHONE, number)])
    shown = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    rfc = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.RFC3966)
    national = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.NATIONAL)
    is_a_date = re.fullmatch(r"(?:\d\d\.){2}\d\d", national)
    behind_words = [] if is_a_date else [f"tel. {national}", f'"phone": "{national}"']
    for text in (number, shown, rfc, f"00{shown[1:]}", *behind_words):
        left = search.without(f"at {text}.")
        assert not re.search("[1-9]{2}", left), (text, left)
        assert re.search(search.loose, text)


def test_a_number_without_country_and_trunk_is_found_behind_a_word_alone_and_cancels_nothing() -> None:
    search = search_for([Mark(MarkKind.PHONE, "+3546111234")])
    assert search.without("order 611-1234, pallet 6111234") == "order 611-1234, pallet 6111234"
    assert search.without("sími 611-1234, phone: (611) 1234") == "sími 0000000, phone: (0000000"
    assert not re.search(search.identity, "sími 611-1234")
    assert search.without("3546111234") == "0000000000"

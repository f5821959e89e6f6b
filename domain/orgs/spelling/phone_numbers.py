"""Telephone numbers: the only reader of them, and how else one is written."""

from dataclasses import dataclass

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberFormat


@dataclass(frozen=True, slots=True)
class NumberParts:
    """A number in its parts, each of digits."""

    country: str
    trunk: str
    """What is dialed before it within its country, such as 0, or the 1 of North America; often nothing."""
    national: str


def read_number(text: str) -> str:
    """A number with its country as E.164 writes it, from any way to write it; raises `ValueError` with the reason."""
    number = _parsed(text)
    if number is None:
        raise ValueError("is no number with its country, such as +49 30 123456")
    if not phonenumbers.is_valid_number(number):
        raise ValueError("is no number that there is in its country")
    return str(phonenumbers.format_number(number, PhoneNumberFormat.E164))


def number_parts(number: str) -> NumberParts:
    """The parts of a number in E.164; one whose country nobody knows has all its digits in `national`."""
    found = _parsed(number)
    if found is None:
        return NumberParts("", "", number.removeprefix("+"))
    national = phonenumbers.national_significant_number(found)
    region = phonenumbers.region_code_for_country_code(found.country_code or 0)
    dialed = phonenumbers.normalize_digits_only(phonenumbers.format_number(found, PhoneNumberFormat.NATIONAL))
    trunk = dialed.removesuffix(national) if dialed.endswith(national) else ""
    trunk = trunk or phonenumbers.ndd_prefix_for_region(region, strip_non_digits=True) or ""
    return NumberParts(str(found.country_code), trunk, national)


def _parsed(text: str) -> PhoneNumber | None:
    """Two zeros are the plus sign of most countries; where they are not, no number begins with them."""
    digits = phonenumbers.normalize_digits_only(text)
    written = f"+{digits[2:]}" if digits.startswith("00") and "+" not in text else text
    try:
        return phonenumbers.parse(written, None)
    except NumberParseException:
        return None

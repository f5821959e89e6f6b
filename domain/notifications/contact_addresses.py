"""Addresses of people by channel: how they are written, checked and shown."""

import re

from domain.jobs.failures import Invalid
from domain.notifications.channels import Channel
from domain.orgs.spelling.phone_numbers import read_number
from domain.payloads.mail_address import check_address

_TOKEN = re.compile(r"[A-Za-z0-9_:%.-]{8,4096}")
"""Firebase documents no length; 4,096 is as much as its whole message may have. Rows are found by a hash of it."""
SHOWN_OF_TOKEN = 6


def checked_contact(channel: Channel, address: str) -> str:
    """The address as it is kept; raises `Invalid` with the field."""
    if channel is Channel.EMAIL:
        return check_address("address", address).lower()
    if channel is Channel.SMS:
        try:
            return read_number(address)
        except ValueError as refusal:
            raise Invalid("address", str(refusal)) from None
    if channel is Channel.PUSH:
        if not _TOKEN.fullmatch(address):
            raise Invalid("address", "is no token of a device, as Firebase's library gives it to the app")
        return address
    raise Invalid("channel", "must be email, sms or push: the inbox needs no address")


def shown_contact(channel: Channel, address: str) -> str:
    """The address as lists show it: whoever has a device's token can write to the device."""
    return f"…{address[-SHOWN_OF_TOKEN:]}" if channel is Channel.PUSH else address

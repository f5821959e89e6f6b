"""What tests of operations need: a serving gateway, and keys of every role."""

from tests.gateway.api.conftest import client, door, stranger

__all__ = ["client", "door", "stranger"]

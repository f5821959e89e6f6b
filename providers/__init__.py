"""The outside world, one file per vendor, behind the Protocols in `ports`."""

"""Bodies posted to an address of the operator's own, signed."""

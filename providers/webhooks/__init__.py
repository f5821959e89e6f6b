"""Bodies posted to an address of the operator's own, signed; and the signatures of what vendors post to ours."""

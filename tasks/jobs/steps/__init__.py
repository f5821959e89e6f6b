"""Steps that these families share."""

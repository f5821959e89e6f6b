"""The border: every message of the broker is read here, once, into a closed type, or refused by its field."""

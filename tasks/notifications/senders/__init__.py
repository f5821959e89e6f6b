"""The steps that every family shares which sends by an org's own credentials."""

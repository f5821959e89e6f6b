"""The SQL of orgs, their people, keys and secrets."""

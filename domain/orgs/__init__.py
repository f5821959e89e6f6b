"""The rules of orgs, their people, keys and secrets."""

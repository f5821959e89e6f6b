"""Orgs, their people, and the erasure of a person."""

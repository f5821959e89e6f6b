"""Profiles of agents and their runs."""

"""Agents: what a profile allows, which tools there are, and what a run does next."""

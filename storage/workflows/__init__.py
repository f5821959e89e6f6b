"""Workflows: their definitions, runs, the nodes of a run, and what runs wait for."""

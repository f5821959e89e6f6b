"""Workflows: what a definition says, which node is next, and how a run ends (docs: workflows.md)."""

"""Drafts of the machine: written, replaced, lost, and taken back."""

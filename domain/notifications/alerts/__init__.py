"""Alerts: what a person must hear of, how often, and in which words."""

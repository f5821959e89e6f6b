"""Approvals: asked for, decided, reminded of, expired, and where an org is asked."""

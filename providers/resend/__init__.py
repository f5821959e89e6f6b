"""Resend, which sends mail under a key of ours, with its quirks."""

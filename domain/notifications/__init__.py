"""Notifications: what is said, whether, when and by which channel a person gets it."""

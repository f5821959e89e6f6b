"""The rules of monitoring."""

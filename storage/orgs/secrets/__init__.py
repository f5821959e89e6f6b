"""Secrets at rest: sealing, and the ciphers it uses."""

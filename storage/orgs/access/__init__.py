"""API keys, users and their erasure, and the requests that are remembered by their idempotency keys."""

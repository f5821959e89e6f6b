"""API keys, and the requests that are remembered by their idempotency keys."""

"""Discord's incoming webhooks."""

"""The emulator of Discord's incoming webhooks."""

"""The emulator of Discord: incoming webhooks, a bot's channels, and signed presses of its buttons."""

"""The emulator of Twilio: text messages, numbers that take none, and signed callbacks."""

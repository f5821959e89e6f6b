"""Twilio: text messages, and the signatures of its callbacks."""

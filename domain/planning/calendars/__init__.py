"""The rules of calendars."""

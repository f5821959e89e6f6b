"""Calendars in files, read by the packages icalendar and recurring-ical-events (RFC 5545)."""

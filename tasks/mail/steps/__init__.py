"""The steps that several mail families share."""

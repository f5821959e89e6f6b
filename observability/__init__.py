"""How logs are set up and what they must not show."""

"""The soak: a real fleet under a steady load, while old jobs leave as fast as new ones come."""

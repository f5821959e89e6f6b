"""The peers' programs: each runs in its peer's own environment and does the same things by the same words."""

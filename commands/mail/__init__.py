"""Commands about what owners say of their mail: rules, directions, labels, settings."""

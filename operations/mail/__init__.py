"""What owners say of their mail: directions, rules, labels, settings."""

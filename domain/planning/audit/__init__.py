"""What an event changed in a plan, in sentences."""

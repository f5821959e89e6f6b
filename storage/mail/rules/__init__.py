"""What owners have said about their mail: rules, directions, safety policies, and what they corrected."""

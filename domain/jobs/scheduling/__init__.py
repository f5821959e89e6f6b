"""How much runs when: schedules, windows, fair shares, rate limits. Arithmetic only."""

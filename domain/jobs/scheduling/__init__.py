"""How much runs when: windows, fair shares, rate limits, money. Arithmetic only."""

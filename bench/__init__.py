"""Our own benchmarks and the peers, side by side."""

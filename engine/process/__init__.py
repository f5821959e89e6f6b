"""What each process of the fleet has: its settings, connections, publisher and meters."""

"""Files that people exchange with the fleet: the statements of artifacts."""

"""What events of the audit log changed: as a patch that goes by ids, and in sentences."""

"""What must not be shown: secrets, and what tells who a person is."""

"""The SQL of notifications: templates, people's addresses and wishes, what was asked for and delivered, the inbox."""

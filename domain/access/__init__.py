"""Who may do what over HTTP: API keys and their roles."""

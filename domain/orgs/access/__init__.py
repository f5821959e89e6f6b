"""Who may do what: API keys and their roles over HTTP, the people of an org and theirs."""

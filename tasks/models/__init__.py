"""The job families of language models, their budgets and agents, a file each."""

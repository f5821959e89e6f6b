"""The job families of orgs: none. People and services act, and the engine keeps the fences."""

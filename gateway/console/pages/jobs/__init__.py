"""The pages by hand of jobs, of what became of them, and of what is done to many."""

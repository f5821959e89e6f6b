"""The job families of workflows, a file each."""

"""The job families of steps, a file each."""

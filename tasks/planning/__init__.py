"""The job families of planning and files, a file each."""

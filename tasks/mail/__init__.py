"""The job families of mail, a file each."""

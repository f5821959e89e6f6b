"""The job families of approvals and effects in doubt, a file each."""

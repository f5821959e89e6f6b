"""The store of artifacts: a folder of this machine, or a bucket."""

"""The steps of jobs that make files, read files, and remove files whose time is over."""

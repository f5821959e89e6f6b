"""What people and services may list, look at and do: each declared once, for the command line, HTTP and the docs."""

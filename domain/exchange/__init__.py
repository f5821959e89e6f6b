"""What comes in and goes out as a file: artifacts and the links to them."""

"""Gmail and Google's OAuth and Pub/Sub, with their quirks."""

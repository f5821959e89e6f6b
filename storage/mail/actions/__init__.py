"""Actions on messages: their states, who executes them, and which takes which back."""

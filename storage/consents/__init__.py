"""The SQL of consent by browser: links, states, outcomes."""

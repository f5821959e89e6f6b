"""The steps of the demo's story: what somebody does, what is predicted of it, and how its end is counted."""

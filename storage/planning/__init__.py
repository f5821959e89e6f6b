"""Planning: projects and what is in them, the plan as a whole, its conflicts, and proposals."""

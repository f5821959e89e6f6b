"""Planning: projects, run sheets and proposals."""

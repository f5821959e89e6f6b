"""The broker: what its messages look like, who publishes them, and what using it may raise."""

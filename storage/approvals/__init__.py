"""Effects in doubt, of jobs that have ended: listed for the fleet, read and concluded for one org."""

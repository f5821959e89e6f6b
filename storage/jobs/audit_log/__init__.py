"""The audit log as a whole: looking up what happened, exports to files, and how entries leave."""

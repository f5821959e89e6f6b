"""The SQL of mail: messages, threads' records, decisions, rules."""

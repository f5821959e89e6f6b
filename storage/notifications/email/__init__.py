"""The SQL of e-mail that services send: orders and senders."""

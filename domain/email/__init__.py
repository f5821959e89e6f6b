"""E-mail that services send by a vendor: what an order may say, and what leaves."""

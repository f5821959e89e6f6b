"""Bytes of a message to fields, whatever a sender wrote."""

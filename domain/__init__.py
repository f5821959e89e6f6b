"""The rules of the house: no I/O, no clock, no dice; time and chance are arguments."""

"""The rules of the house: no I/O, no clock, no chance; time and random numbers are arguments."""

"""How far older mail has been taken in."""

"""Five ways to hand over an order's confirmation; the first three are in the transaction that places the order."""

"""What must hold in every ledger, and which of its rows contradict it."""

"""The contenders: ours, the peers, how each is built and with which settings it runs."""

"""How jobs run: catalogue, a handler's context, enqueueing, worker, relay. It knows no job family and no mail."""

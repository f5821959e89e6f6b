"""Documents that people write: read with each value's position, checked by models, refused with all faults."""

"""The emulated HTTP interface of Gmail, Google's OAuth and Pub/Sub."""

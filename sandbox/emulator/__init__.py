"""The chassis of an emulator: an HTTP server with a journal and faults on order."""
